#pragma once
// Finds the line at which a wrong plan goes wrong: at a point at which a result differs, its values
// are compared with all values of the model, whatever their names are.
#include <optional>
#include <set>
#include <vector>

#include "spec/check/repair.h"
#include "spec/denote/denote.h"
#include "spec/ir/program.h"

namespace shardproof {

/// A value of a function.
struct ValueAt {
  size_t function = 0;
  ir::ValueId value = ir::no_value;
  auto operator<=>(const ValueAt&) const = default;
};

struct FirstWrong {
  ValueAt own;                   ///< of the plan, or of a plan without a model that it calls
  std::optional<ValueAt> meant;  ///< the model's value that makes the result right in its place
  SourceRange range;             ///< of the instruction that computes it
  SourceRange meant_range;       ///< likewise
  bool same_order = false;       ///< of the dims of both, which are no constants
  bool returned = false;         ///< it is a value of the model, which returns another
  bool exchanged = false;        ///< the results are the model's, in another order
  bool of_gradient = false;      ///< what is meant is the gradient of that value
  size_t right = 0;              ///< results that are right with what is meant
  /// Its loop has no other values than it, and what it is computed from may be wrong too.
  bool last_of_a_loop = false;
  std::optional<Repair> repair =
      {};  ///< a change that makes the results right; its `range` is this
  std::set<ir::ValueId> suspects = {};  ///< of the plan: the model has no such values
};

/// The first value of the plan on the way to `result` that makes it right if a value of the model
/// takes its place. Tried are values that the model does not have, and operands of the first of
/// these. If there is none: the value in which all that the model does not have meets. Nullopt: a
/// run costs too much. A plan that claims the model's gradient is compared with the gradients of
/// the model's values too.
std::optional<FirstWrong> first_wrong_value(const ir::Program& program, size_t plan,
                                            const denote::Sizes& sizes, size_t result,
                                            const std::vector<denote::Array<double>>& inputs);

}  // namespace shardproof
