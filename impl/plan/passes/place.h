#pragma once
// When what is copied elsewhere may be made there.
#include "impl/plan/memory.h"

namespace shardproof::plan {

/// The step's copy, if it is one whose place is known.
const Copy* plain_copy(const Step& step);

/// The two move alike with the indices of loops.
bool same_terms(const Ref& a, const Ref& b);

/// Row-major, and all of its buffer.
bool is_whole(const Ref& ref, const Piece& piece);

/// All that touches the buffer is kernels, which see what it has: a collective holds its arguments
/// itself.
bool only_kernels_touch(const std::vector<Step>& steps, const Ref& all);

/// The first step that touches the buffer writes it: an iteration takes nothing from the last one.
bool begins_with_write(const std::vector<Step>& body, BufferId id);

/// The step touches none of the entries of `part`, a view without gaps.
bool keeps_off(const Step& step, const Ref& part);

/// What `copy`, a step of the body, copies may be where it is copied to from the first on: nobody
/// else is at that place until then, and behind it nobody needs the one as it was when he writes
/// the other.
bool has_place(const std::vector<Step>& body, const Step& copy);

}  // namespace shardproof::plan
