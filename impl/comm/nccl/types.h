#pragma once
// Elements and reductions as NCCL types.
#include <nccl.h>

#include "impl/comm/call.h"

namespace shardproof {

ncclDataType_t nccl_type(Element element);
ncclRedOp_t nccl_op(Reduction reduction);

/// Whether we gather the entries and reduce them in the order of the group, because NCCL's
/// reduction differs from ours: its max and min lose a NaN, and with `deterministic` a sum has the
/// same bits as between threads.
bool joined_by_us(const Call& call, bool deterministic);

}  // namespace shardproof
