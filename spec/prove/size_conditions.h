#pragma once
// Reduces the size conditions of a plan, and finds the smallest sizes that satisfy them.
#include <optional>

#include "spec/check/check.h"
#include "spec/prove/smt.h"

namespace shardproof {

/// Sizes of axes and of base dims.
using Sizing = std::map<Name, int64_t>;

/// A claim that `weak` follows from the other conditions, the file's declarations and its
/// requirements, proved by naming the quotient. Nullopt: no quotient was found; nothing follows.
std::optional<smt::Obligation> implication(const ir::Program& program,
                                           const std::vector<Divisibility>& others,
                                           const Divisibility& weak);

/// Removes conditions that follow from the rest. Appends the proof of each removal to `proofs`.
std::vector<Divisibility> reduce_by_implication(const ir::Program& program,
                                                std::vector<Divisibility> conditions,
                                                smt::Solver& solver,
                                                std::vector<smt::Obligation>* proofs = nullptr);

/// Whether a condition is needed: sizes at which the others hold and it fails.
struct Independence {
  Divisibility condition;
  std::optional<Sizing> sizes;  ///< nullopt: no small sizes found
};
std::vector<Independence> independent(const ir::Program& program,
                                      const std::vector<Divisibility>& conditions);

/// The smallest sizes that satisfy everything; each axis of unknown size is at least 2 if possible.
/// Nullopt: no small sizes do.
std::optional<Sizing> smallest_sizes(const ir::Program& program,
                                     const std::vector<Divisibility>& conditions,
                                     const ir::Function* function = nullptr);

/// Whether the assumptions can hold together.
struct Assumptions {
  enum class Kind { satisfiable, contradictory, unknown } kind = Kind::unknown;
  std::optional<Sizing> example;         ///< if satisfiable
  std::optional<Diagnostic> diagnostic;  ///< if contradictory: E0111 at the require
  smt::Obligation obligation;            ///< `; expect: sat`
};
Assumptions check_assumptions(const ir::Program& program,
                              const std::vector<Divisibility>& conditions, smt::Solver& solver,
                              const ir::Function* function = nullptr);

std::string to_string(const Sizing& sizing);  ///< "d=2 t=2 M=4"

}  // namespace shardproof
