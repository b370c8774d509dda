#pragma once
// Small sizes by trying: the numbers that a person is shown.
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "spec/prove/size_conditions.h"

namespace shardproof {

/// A condition on some names, evaluated when all of them have a size.
struct Constraint {
  std::set<Name> names;
  std::function<bool(const Sizing&)> holds;
};

/// Requirements on sizes only, and sized dims being whole and positive.
std::vector<Constraint> declared_constraints(const ir::Program& program,
                                             const ir::Function* function);
Constraint divides(const ir::Program& program, const Divisibility& condition, bool wanted = true);

/// Sizes of all axes and plain dims that satisfy all constraints, small ones first; axes of open
/// size are at least 2 if that is possible. Gives up after a fixed number of steps.
std::optional<Sizing> search_sizes(const ir::Program& program,
                                   const std::vector<Constraint>& constraints);

}  // namespace shardproof
