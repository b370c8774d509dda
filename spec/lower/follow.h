#pragma once
// A carry that follows a carry of an earlier loop: at each step it is that carry at a fixed index.
// Decoding with a key-value cache is of this kind: its row is row n of the loop over all rows.
#include <functional>

#include "spec/lower/loop.h"

namespace shardproof::lower {

struct Follower {
  Tensor at, last;  ///< at step n, and after the loop
};

/// A loop by its step index, its carries' first values, leaves that stand for its carries at step
/// n, and its step.
struct Following {
  Var n;
  bool reverse;
  const std::vector<Tensor>& starts;
  const std::vector<Tensor>& leaves;
  const std::function<Step(const std::vector<Tensor>&)>& step;
};

/// By carry. Proved by induction on the step: the first values agree, and where carries have the
/// earlier loop's values at step n, their next values are its next ones.
std::vector<std::optional<Follower>> followers(Context& c, const Following& loop,
                                               const std::vector<size_t>& carries);

}  // namespace shardproof::lower
