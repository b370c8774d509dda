#pragma once
// A pattern against its operands and its result: the left side is the operand's type, the right
// side the type that the rule gives.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// Fills in the axes and marks of an inferred pattern from the operands; of a written one, compares
/// the left sides with them: E0306 where only marks are missing, E0301 otherwise.
void complete(Application& app);

/// The state on `axis` that the right side writes, where I means R if the result has no gradient.
State written(const Shape& right, const Axis& axis, bool gradient);

/// The type of a result whose axes and marks the rule computed: of an inferred pattern that is the
/// right side, a written one must say the same: E0214 where it leaves out a U or Max, E0302
/// otherwise. `gradient`: the result has one.
Type conclude(Application& app, const Shape& computed, Dtype dtype, bool gradient);

/// Why `actual` is not `stated`, for a value with or without gradient; none if it is.
std::optional<Refusal> unequal(const ir::Program& program, const std::string& code,
                               const std::string& message, const Shape& actual, const Shape& stated,
                               bool gradient);

/// Equal but for names of the same dim, and for I and R of a value without gradient.
bool same_shape(const ir::Program& program, const Shape& a, const Shape& b, bool gradient);
bool same_dims(const ir::Program& program, const Shape& a, const Shape& b);  ///< dims and lists
Marks visible_marks(const Shape& shape, bool gradient);  ///< without I where there is no gradient

}  // namespace shardproof::rules
