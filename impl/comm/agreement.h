#pragma once
// What the processes of a run say before their calls, and the error if they do not say the same.
#include <string>
#include <vector>

#include "impl/comm/call.h"

namespace shardproof {

/// `is in all_reduce(max) of 12 f32 at ffn.shard:7:3, of 4 ranks`: what all ranks say of a call
/// that is in no sequence. They may make it in groups of their own, all of one size.
std::string agreed_text(const Call& call, const std::string& place, int members);

/// Throws CommError with the first two ranks that said other texts. `said` is by rank.
void require_same(const std::vector<std::string>& said);

}  // namespace shardproof
