#pragma once
// Finds small sizes by trial: the numbers in reports.
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "spec/prove/size_conditions.h"

namespace shardproof {

/// A condition on some names, evaluated once all of them have a size.
struct Constraint {
  std::set<Name> names;
  std::function<bool(const Sizing&)> holds;
};

/// Requirements on sizes only, and that sized dims are positive integers.
std::vector<Constraint> declared_constraints(const ir::Program& program,
                                             const ir::Function* function);
Constraint divides(const ir::Program& program, const Divisibility& condition, bool wanted = true);

/// Sizes of all axes and plain dims that satisfy all constraints, small ones first. Axes of unknown
/// size are at least 2 if possible. Gives up after a fixed number of steps.
std::optional<Sizing> search_sizes(const ir::Program& program,
                                   const std::vector<Constraint>& constraints);

}  // namespace shardproof
