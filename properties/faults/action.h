#pragma once
// What a collective does, apart from the type of what it is given: so that it can do the same to
// another type, and another collective the same to the same.
#include <map>
#include <optional>

#include "spec/ir/ops.h"

namespace shardproof::faults {

struct Action {
  std::vector<std::vector<Axis>> removed, added;  ///< per dim, from the ends of the lists
  std::map<Axis, std::optional<Mark>> marks;      ///< afterwards, of the axes that change

  /// All axes that it changes, in the order of the pattern.
  std::vector<Axis> axes() const;
  bool operator==(const Action&) const = default;
};

/// From a collective's pattern.
Action action_of(const ir::Pattern& pattern);

/// The pattern of the action on an operand of this shape, with the names and indices of `original`.
/// What cannot be done to the shape is left out, and then the rule has its say.
ir::Pattern applied(const Action& action, const Shape& operand, const ir::Pattern& original);

}  // namespace shardproof::faults
