#pragma once
// Fixes in terms of the op, with the operand's real type.
#include <optional>

#include "spec/rules/application.h"

namespace shardproof::rules {

/// The one collective that makes `to` of `from`, as `all_gather("M/t -> M", $)`; none if it takes
/// several.
std::optional<FixHint> conversion(const ir::Program& program, const Shape& from, const Shape& to);

/// The same around operand i; nothing where there is none.
std::vector<FixHint> convert_operand(const Application& app, size_t operand, const Shape& to);

/// Instead of the op: nothing, or the one collective that makes `to` of operand i.
std::vector<FixHint> instead(const Application& app, size_t operand, const Shape& to);

FixHint reduce_operand(const Application& app, size_t operand, const std::vector<Axis>& axes);
FixHint keep_on_root(const Application& app, size_t operand, const Axis& axis);  ///< zero_nonroot
FixHint fan_out_operand(const Application& app, size_t operand, const Axis& axis);

/// Words only.
FixHint advice(std::string message);

}  // namespace shardproof::rules
