#pragma once
// A carry that follows a carry of an earlier loop: at each step it equals that carry at a fixed
// index. Example: decoding with a key-value cache computes row n of the loop over all rows.
#include <functional>

#include "spec/lower/loop.h"

namespace shardproof::lower {

struct Follower {
  TensorExpr at, last;  ///< at step n, and after the loop
};

/// The later loop: step index, initial values of the carries, the leaves that stand for the carries
/// at step n, and the step.
struct Following {
  Var n;
  bool reverse;
  const std::vector<TensorExpr>& starts;
  const std::vector<TensorExpr>& leaves;
  const std::function<Iteration(const std::vector<TensorExpr>&)>& step;
};

/// For each carry, the earlier carry that it follows, if any. Proved by induction on the step: the
/// initial values agree, and if the values agree at step n, so do the next ones.
std::vector<std::optional<Follower>> followers(Context& c, const Following& loop,
                                               const std::vector<size_t>& carries);

}  // namespace shardproof::lower
