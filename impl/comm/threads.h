#pragma once
// Ranks as threads of one process, of any number, that read each other's buffers.
#include <functional>

#include "impl/comm/communicator.h"

namespace shardproof {

/// Runs `body` on ranks 0 .. world-1, each in its own thread, and returns when all have ended.
/// Throws the first fault as CommError: of a rank that threw "rank 3: <what>", a disagreement, or
/// that ranks wait for each other or for one that has ended.
void run_on_threads(int world, const std::function<void(Communicator&)>& body);

}  // namespace shardproof
