#pragma once
// A pattern without axes, `einsum("B M, M F -> B F", x, w)` of x: f32[B/d M].
#include <optional>

#include "spec/rules/rule.h"

namespace shardproof {

/// The op's pattern with the types of its operands and of its result; none if the operands cannot
/// be combined, or have other dims.
std::optional<FixHint> all_types_of_pattern(const ir::Program& program, const ir::Op& op,
                                            const std::vector<Operand>& operands);

}  // namespace shardproof
