#pragma once
// The words of refusals: types with the names of the source, and what each device holds.
#include <string>

#include "spec/elaborate/text.h"
#include "spec/rules/application.h"

namespace shardproof::rules {

using elaborate::left_text;
using elaborate::show;
std::string show(const ir::Program& program, const Type& type);
std::string show(const std::vector<Axis>& axes);  ///< `t, d`

/// `"left -> right"` for two shapes, as in a pattern.
std::string arrow(const ir::Program& program, const Shape& left, const Shape& right);
/// The pattern as written for this op, brackets included.
std::string pattern_text(const Application& app, const ir::Pattern& pattern);

/// "split over t", "a copy on each device of t", ...
std::string describe(State state, const Axis& axis);

/// Why a value of type `actual` does not have type `stated`, in terms of devices; reports the first
/// difference.
std::string difference(const ir::Program& program, const Shape& actual, const Shape& stated);

/// E0210: `operand` is a Max value.
Refusal of_max(const Application& app, size_t operand);

}  // namespace shardproof::rules
