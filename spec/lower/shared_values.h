#pragma once
#include "spec/lower/lower.h"

namespace shardproof::lower {

/// Which of the values that plan and model share become leaves: those with a name on one side, or
/// all. Of all, two may be functions of each other, and as leaves they are not.
enum class Shared { named, all };

struct SharedValues {
  std::map<ir::ValueId, SharedLeaf> plan, model;
};

/// Values of the plan that equal a value of the model, as the same leaf on both sides. If the
/// results are equal for all values of these leaves, they are equal for those that they stand for.
/// A leaf keeps the sign that is known of its value.
SharedValues shared_values(algebra::Algebra& algebra, const ir::Program& program,
                           std::pair<size_t, const Lowered*> plan,
                           std::pair<size_t, const Lowered*> model, Shared which);

}  // namespace shardproof::lower
