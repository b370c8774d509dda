#pragma once
// Loops whose dim has parts, as loops over these: over (P W) as a loop over P around one over W,
// over Z with |Z| = |P| + |Q| as one over P and then one over Q, over a dim of size 3 as three
// steps, over N as a step and a loop over R where |R| = |N| - 1. Both sides of a comparison then
// have the same loops, whichever of these the file writes.
#include "spec/lower/parts_of_dim.h"

namespace shardproof::lower {

struct LoopsInParts {
  ir::Program program;
  size_t orders = 1;  ///< of parts: the file does not say which part is first
};

/// The program with such loops in the functions that the plan reaches, with the parts in one of
/// their orders. None if there are no such loops, or if it would become too long.
std::optional<LoopsInParts> with_loops_in_parts(const ir::Program& program, size_t plan,
                                                size_t order);

}  // namespace shardproof::lower
