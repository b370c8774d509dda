#pragma once
// Checks a pattern: its left side against the operands' types, its right side against the type that
// the rule computes.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// Completes an inferred pattern with the operands' axes and marks. Compares the left sides of a
/// written one with the operands: E0306 if only marks are missing, else E0301.
void complete(Application& app);

/// The state on `axis` that the right side states; I means R if the result has no gradient.
State written(const Shape& right, const Axis& axis, bool gradient);

/// The type of a result from the axes and marks that the rule computed. They complete an inferred
/// pattern; a written pattern must agree: E0214 if it omits a U or Max, else E0302. `gradient`: the
/// result has a gradient.
Type conclude(Application& app, const Shape& computed, Dtype dtype, bool gradient);

/// Why `actual` differs from `stated`, for a value with or without gradient; none if it does not.
std::optional<Refusal> unequal(const ir::Program& program, const std::string& code,
                               const std::string& message, const Shape& actual, const Shape& stated,
                               bool gradient);

/// Equal, except for names of the same dim, and for I versus R of a value without gradient.
bool same_shape(const ir::Program& program, const Shape& a, const Shape& b, bool gradient);
bool same_dims(const ir::Program& program, const Shape& a, const Shape& b);  ///< and axes
Marks visible_marks(const Shape& shape, bool gradient);  ///< drops I if there is no gradient

}  // namespace shardproof::rules
