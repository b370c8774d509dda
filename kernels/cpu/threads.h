#pragma once
// Threads that compute one op together.
#include <cstdint>
#include <functional>

namespace shardproof::cpu {

/// The number of threads that an op of one rank may use, the rank's own thread included: 1 at
/// first. Call it before the ranks start.
void set_threads(int most);
int threads();

/// Calls piece(0) .. piece(count - 1), each once, on the calling thread and up to threads() - 1
/// others, in any order. Returns when all are done; throws what a piece throws. How work is cut
/// into pieces must not depend on threads(), so that the results have the same bits.
void in_pieces(int64_t count, const std::function<void(int64_t)>& piece);

}  // namespace shardproof::cpu
