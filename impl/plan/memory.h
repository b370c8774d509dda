#pragma once
// The memory of a plan: which buffers share it.
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// A buffer of the arena.
struct Piece {
  size_t bytes = 0;
  size_t first = ~size_t{0}, last = 0;  ///< the first and last step between which it is live
  size_t offset = 0;
};

/// Finds the first and last use of each buffer. A buffer from before a loop that the loop reads is
/// live until the end of the loop; one from the loop that is read after it is live from the start
/// of the loop. Buffers of a started collective are live until the plan waits for it.
void find_lifetimes(const std::vector<Step>& steps, std::vector<Piece>& pieces);

/// Gives each buffer an offset so that buffers that are live at the same time do not overlap, and
/// returns the size of the arena in bytes. Without `reuse` no two buffers share memory.
size_t place_buffers(std::vector<Piece>& pieces, bool reuse);

/// Whether the result `made` can use the memory of the parameter `kept`: after the result is
/// written no step reads the parameter, except the writing step itself, entry by entry.
bool may_share(const std::vector<Step>& steps, BufferId kept, BufferId made);

}  // namespace shardproof::plan
