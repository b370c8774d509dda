#pragma once
// Ranks as threads of one process, which read each other's buffers.
#include <functional>

#include "impl/comm/communicator.h"

namespace shardproof {

/// Runs `body` on ranks 0 .. world-1, rank 0 on the caller's thread and each other in its own, and
/// returns when all have ended. Throws the first error as CommError: "rank 3: <what>" for an
/// exception, a disagreement between calls, a deadlock, or a wait for a rank that has ended.
void run_on_threads(int world, const std::function<void(Communicator&)>& body);

}  // namespace shardproof
