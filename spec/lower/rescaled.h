#pragma once
// Carries that a loop rescales by the exponential of another carry, as an online softmax does with
// its running maximum m: in each step o becomes o exp(m - m') + .. . In terms of o exp(m), which is
// another name of the same number for every m, the step has no m.
#include <map>

#include "spec/lower/loop.h"

namespace shardproof::lower {

struct Rescaling {
  size_t by;                   ///< the carry m
  std::map<size_t, Nf> rates;  ///< carry i is kept as c_i exp(rate m)
};

/// One after which the steps of its carries do not read m. `leaves` stand for the carries in
/// `step`.
std::optional<Rescaling> rescaling_of(Context& c, const LoopText& text,
                                      const std::vector<TensorExpr>& leaves, const Iteration& step);

/// The loop with its carries in the other terms, and its last values in those of `text`.
LoopText rescaled(Context& c, const LoopText& text, const Rescaling& rescaling);
std::vector<TensorExpr> in_own_scale(Context& c, const LoopText& text, const Rescaling& rescaling,
                                     std::vector<TensorExpr> last);

}  // namespace shardproof::lower
