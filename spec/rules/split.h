#pragma once
// Checks how operands are split: the same way, or not at all if the op needs a whole dim.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// Requires that two operands split their common indices the same way (E0204).
void need_alike(const Application& app, size_t operand, size_t other);

/// The refusal for two operands that split an index differently.
Refusal split_differently(const Application& app, size_t operand, size_t other, ir::IndexId id);

/// Refuses a split dim: `code`, "each device has only its own part".
void need_whole(const Application& app, size_t operand, const Split& split, const std::string& code,
                const std::vector<std::string>& advices = {});

/// Requires a copy of the operand on each device of `axis`, over which a new dim is split.
void need_copy_to_split(const Application& app, size_t operand, const Axis& axis);

}  // namespace shardproof::rules
