#pragma once
// The text by which processes check that they are about to make the same call.
#include <string>
#include <vector>

#include "impl/comm/call.h"

namespace shardproof {

/// For a call outside a sequence: `is in all_reduce(max) of 12 f32 at ffn.shard:7:3, of 4 ranks`.
/// Equal on all ranks, even if they are in different groups; all groups must have one size.
std::string agreed_text(const Call& call, const std::string& place, int members);

/// Throws CommError with the first rank whose text differs from rank 0's. `said` is by rank.
void require_same(const std::vector<std::string>& said);

}  // namespace shardproof
