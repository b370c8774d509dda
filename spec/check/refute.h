#pragma once
// A plan and its claim at random points of small sizes, on one device, in double. A difference
// refutes; agreement proves nothing.
#include <optional>
#include <string>

#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"

namespace shardproof {

struct Refutation {
  size_t result = 0;       ///< the first result that differs
  Counterexample numbers;  ///< sizes, where they differ, both values
  double ratio = 0;  ///< best-fit factor <plan, model> / <model, model>, of gradients for gradients
  bool uniform = false;  ///< plan == ratio * model, entry by entry
  size_t entries = 0;    ///< of the result
  std::string outside;  ///< the range of a parameter in which no difference is seen: "0 <= y < |V|"
};

/// The plan against its model, or where it claims a gradient against the derivative of its model by
/// dual numbers. Nullopt: no difference was seen, or one of them cannot be run on one device (`why`
/// says so).
std::optional<Refutation> refute(const ir::Program& program, size_t plan, std::string* why);

}  // namespace shardproof
