#pragma once
// The memory of a plan: which buffers share it.
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// A buffer of the arena.
struct Piece {
  size_t bytes = 0;
  size_t first = ~size_t{0}, last = 0;  ///< the steps between which its content is needed
  size_t offset = 0;
};

/// The first and last use of each buffer, loops included: what is made before a loop and read in it
/// lives until its end, what is made in it and read behind it lives from its begin. What a started
/// collective touches lives until it is waited for.
void find_lifetimes(const std::vector<Step>& steps, std::vector<Piece>& pieces);

/// Places the buffers so that two which live at the same time do not overlap: the size of the arena
/// in bytes. `reuse` false: each has its own place.
size_t place_buffers(std::vector<Piece>& pieces, bool reuse);

/// Whether the result `made` may have the memory of the parameter `kept`: when it is written nobody
/// reads that any more, but for the step itself, entry by entry.
bool may_share(const std::vector<Step>& steps, BufferId kept, BufferId made);

}  // namespace shardproof::plan
