#pragma once
// Compares a plan with its claim at random points of small sizes, on one device, in double. A
// difference refutes; agreement proves nothing.
#include <optional>
#include <string>
#include <vector>

#include "spec/check/budget.h"
#include "spec/check/first_wrong_value.h"
#include "spec/diag/diagnostic.h"
#include "spec/ir/program.h"
#include "spec/lower/lower.h"

namespace shardproof {

struct Refutation {
  size_t result = 0;                      ///< the first result that differs
  std::vector<size_t> others = {};        ///< those after it that differ there too
  Counterexample numbers;                 ///< sizes, position of the difference, both values
  double ratio = 0;                       ///< least-squares factor <plan, model> / <model, model>
  bool uniform = false;                   ///< plan == ratio * model, entry by entry
  size_t entries = 0;                     ///< number of entries of the result
  std::optional<FirstWrong> first_wrong;  ///< of a claim about a value
  std::string outside;  ///< the range of a parameter in which no difference is seen: "0 <= y < |V|"
};

/// Whether a difference is shown to be more than rounding, which takes longer than to find it. Not
/// where the next edit is tried whatever the reason.
enum class Confirm { yes, no };

/// Compares the plan with its model or, if it claims a gradient, with the derivative of its model
/// by dual numbers. Nullopt: no difference was found, or one of them cannot run on one device
/// (`why` says so), or the time is over.
std::optional<Refutation> refute(const ir::Program& program, size_t plan, std::string* why,
                                 double seconds = FileBudget::of_points,
                                 Confirm confirm = Confirm::yes,
                                 lower::Look look = lower::Look::all);

}  // namespace shardproof
