#pragma once
// Builds fixes for an op from its operands' real types.
#include <optional>

#include "spec/rules/application.h"

namespace shardproof::rules {

/// The collective that turns `from` into `to`, such as `all_gather("M/t -> M", $)`, or a gather and
/// then a slice; none if it takes others.
std::optional<FixHint> conversion(const ir::Program& program, const Shape& from, const Shape& to);

/// The same, wrapped around operand i; empty if there is none.
std::vector<FixHint> convert_operand(const Application& app, size_t operand, const Shape& to);

/// Replaces the op by its operand i, or by the one collective that turns it into `to`.
std::vector<FixHint> instead(const Application& app, size_t operand, const Shape& to);

/// Gathers operand i over an axis that splits a dim of it; the op's result is not split there.
std::optional<FixHint> gather_operand(const Application& app, size_t operand, const Axis& axis);
FixHint reduce_operand(const Application& app, size_t operand, const std::vector<Axis>& axes);
FixHint keep_on_root(const Application& app, size_t operand, const Axis& axis);  ///< zero_nonroot
FixHint fan_out_operand(const Application& app, size_t operand, const Axis& axis);

/// A hint without an edit.
FixHint advice(std::string message);

}  // namespace shardproof::rules
