#pragma once
// How operands are split: alike, or whole where the op needs it.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// Indices that two operands have are split alike: else E0204.
void need_alike(const Application& app, size_t operand, size_t other);

/// The refusal of two operands that split an index differently.
Refusal split_differently(const Application& app, size_t operand, size_t other, ir::IndexId id);

/// A dim that must not be split: `code` with "each device has only its own part".
void need_whole(const Application& app, size_t operand, const Split& split, const std::string& code,
                const std::vector<std::string>& advices = {});

/// A new dim is split over `axis`: needs a copy of the operand on each device.
void need_copy_to_split(const Application& app, size_t operand, const Axis& axis);

}  // namespace shardproof::rules
