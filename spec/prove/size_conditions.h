#pragma once
// Which size conditions a plan really needs, and the smallest sizes that satisfy them.
#include <optional>

#include "spec/check/check.h"
#include "spec/prove/smt.h"

namespace shardproof {

/// Sizes of axes and of base dims.
using Sizing = std::map<Name, int64_t>;

/// `weak` follows from the others, the file's declarations and its requirements: proved by naming
/// the quotient. Nullopt: no quotient was found, which says nothing.
std::optional<smt::Obligation> implication(const ir::Program& program,
                                           const std::vector<Divisibility>& others,
                                           const Divisibility& weak);

/// Without the conditions that follow from the rest; each drop is proved, and appended to `proofs`.
std::vector<Divisibility> reduce_by_implication(const ir::Program& program,
                                                std::vector<Divisibility> conditions,
                                                smt::Solver& solver,
                                                std::vector<smt::Obligation>* proofs = nullptr);

/// Dropping a condition: sizes at which the others hold and it breaks.
struct Independence {
  Divisibility condition;
  std::optional<Sizing> sizes;  ///< nullopt: none with small numbers
};
std::vector<Independence> independent(const ir::Program& program,
                                      const std::vector<Divisibility>& conditions);

/// The smallest sizes that satisfy everything, every axis of open size at least 2 if possible.
/// Nullopt: none among small numbers.
std::optional<Sizing> smallest_sizes(const ir::Program& program,
                                     const std::vector<Divisibility>& conditions,
                                     const ir::Function* function = nullptr);

/// Whether the assumptions can hold at all.
struct Assumptions {
  enum class Kind { satisfiable, contradictory, unknown } kind = Kind::unknown;
  std::optional<Sizing> example;         ///< satisfiable
  std::optional<Diagnostic> diagnostic;  ///< contradictory: E0111 at the require
  smt::Obligation obligation;            ///< `; expect: sat`
};
Assumptions check_assumptions(const ir::Program& program,
                              const std::vector<Divisibility>& conditions, smt::Solver& solver,
                              const ir::Function* function = nullptr);

std::string to_string(const Sizing& sizing);  ///< "d=2 t=2 M=4"

}  // namespace shardproof
