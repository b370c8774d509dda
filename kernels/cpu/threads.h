#pragma once
// Threads that compute one op together.
#include <cstdint>
#include <functional>

namespace shardproof::cpu {

/// The process has `all` threads for `ranks` ranks, which are threads themselves: 1 for each rank
/// at first. The others work for any rank. Call it before the ranks start.
void set_threads(int all, int ranks = 1);
/// The most threads that work on an op, the rank's own included.
int threads();

/// While it exists, the calling rank waits, and another thread may work in its stead.
class Lent {
 public:
  Lent();
  Lent(const Lent&) = delete;
  ~Lent();
};

/// Calls piece(0) .. piece(count - 1), each once, on the calling thread and those that no other
/// rank needs, in any order. Returns when all are done; throws what a piece throws. How work is cut
/// into pieces must not depend on threads(), so that the results have the same bits.
void in_pieces(int64_t count, const std::function<void(int64_t)>& piece);

}  // namespace shardproof::cpu
