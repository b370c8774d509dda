#pragma once
// When a copy can be elided: its source is produced in its destination.
#include "impl/plan/memory.h"

namespace shardproof::plan {

/// The step's copy, if it is one and its destination does not depend on data.
const Copy* plain_copy(const Step& step);

/// Whether both views move in the same way with loop indices.
bool same_terms(const Ref& a, const Ref& b);

/// Whether the view is row-major and covers its whole buffer.
bool is_whole(const Ref& ref, const Piece& piece);

/// Whether only kernels use the buffer in the step. A pass can redirect their operands, but not
/// those of a collective.
bool only_kernels_touch(const Step& step, const Ref& all);

/// The steps of a body that use the buffers in question, in order; others do no harm.
using Users = std::vector<const Step*>;

/// Whether the first step that uses the buffer writes it, so no iteration reads the previous one's.
bool begins_with_write(const Users& users, BufferId id);

/// Whether the step uses no entry of `part`, a view without gaps.
bool keeps_off(const Step& step, const Ref& part);

/// True if `copy`, one of the users of its source and its destination, can be elided: its source
/// can be produced directly in the destination. No other step uses the destination before the copy,
/// and after it no reader of the source follows a write to the destination, or the reverse.
bool has_place(const Users& users, const Step& copy);

}  // namespace shardproof::plan
