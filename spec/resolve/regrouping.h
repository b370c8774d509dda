#pragma once
// Groups that one side of a pattern opens or merges, where the op itself works on whole positions:
// collectives, read, write, concat, argmax, top_k, cumsum and argsort. Named and opened groups are
// the same entries in the same order, so the rearranges move nothing.
#include "spec/resolve/patterns.h"

namespace shardproof::resolution {

/// What an op does with its dim, beside the positions that both sides share.
enum class Works { elementwise, bracket, drops_one, replaces_one };

/// Gives both sides of `read` the same positions: where one says H and the other K D, or where
/// `read.working` is a factor of a group, the operand is opened by a rearrange before the op.
/// Returns the right side as written if the op's result has to be regrouped to it.
/// Changes nothing where both sides have the same positions, and in the body of a generic fn.
std::optional<Shape> open_groups(Body& body, const CallSite& site, Read& read, Works works);

/// The op's result `id` with the positions of `wanted`, by a rearrange; `id` without `wanted`.
Values regrouped_as(Body& body, const CallSite& site, const Read& read, ir::ValueId id,
                    const std::optional<Shape>& wanted);

}  // namespace shardproof::resolution
