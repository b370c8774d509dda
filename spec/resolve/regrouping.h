#pragma once
// Groups that a pattern opens or merges while the op needs whole positions: collectives, read,
// write, concat, argmax, top_k, cumsum and argsort. A named group and its opened form have the same
// entries in the same order, so the rearranges move no data.
#include "spec/resolve/patterns.h"

namespace shardproof::resolution {

/// What an op does with its dim, in addition to the positions that both sides share.
enum class Works { elementwise, bracket, drops_one, replaces_one };

/// The right side of a pattern with its groups opened, and as written.
struct Opened {
  Shape opened, written;
};

/// Gives both sides of `read` the same positions. If one side says H and the other K D, or if
/// `read.working` is a factor of a group, a rearrange opens the operand before the op. Returns the
/// right side if the result must be regrouped to it. Changes nothing if both sides already match,
/// or in the body of a generic function.
std::optional<Opened> open_groups(Body& body, const CallSite& site, Read& read, Works works);

/// The op's result `id` with the positions that are written, by a rearrange; `id` itself if none
/// was opened.
Values regrouped_as(Body& body, const CallSite& site, ir::ValueId id,
                    const std::optional<Opened>& right);

}  // namespace shardproof::resolution
