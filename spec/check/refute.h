#pragma once
// Two functions at random points of small sizes, on one device, in double: a difference refutes,
// agreement says nothing.
#include <optional>
#include <string>
#include <vector>

#include "spec/denote/denote.h"
#include "spec/diag/diagnostic.h"

namespace shardproof {

/// Small sizes, unequal where they can be, that satisfy the file's sizes and requirements;
/// `attempt` varies them. Nullopt: none was found.
std::optional<denote::Sizes> small_sizes(const ir::Program& program, unsigned attempt);

/// mixed: floats of both signs, away from 0, scalars positive. positive: all of them. signs:
/// scalars as well, and whole numbers of both signs where none indexes a table. ties: small whole
/// floats. tiny: floats near 1e-4.
enum class Draw { mixed, positive, signs, ties, tiny };

/// Inputs of a function.
std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw);

struct Refutation {
  size_t result = 0;       ///< the first result that differs
  Counterexample numbers;  ///< sizes, where they differ, both values
  double ratio = 0;        ///< best-fit factor <plan, model> / <model, model>
  bool uniform = false;    ///< plan == ratio * model, entry by entry
  size_t entries = 0;      ///< of the result
};

/// Nullopt: no difference was seen, or the functions cannot be run on one device (`why` says so).
std::optional<Refutation> refute(const ir::Program& program, size_t plan, size_t model,
                                 std::string* why);

}  // namespace shardproof
