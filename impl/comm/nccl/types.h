#pragma once
// Entries and reductions in NCCL's terms.
#include <nccl.h>

#include "impl/comm/call.h"

namespace shardproof {

ncclDataType_t nccl_type(Element element);
ncclRedOp_t nccl_op(Reduction reduction);

/// Whether NCCL's own reduction is not what ours means, so that the entries are gathered and joined
/// in the order of the group: its greatest and least of floats lose a NaN, and with `deterministic`
/// a sum keeps the bits that threads give.
bool joined_by_us(const Call& call, bool deterministic);

}  // namespace shardproof
