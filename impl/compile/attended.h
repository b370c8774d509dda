#pragma once
// The results of an attention that its gradient reads: o, and the statistics of each row of logits
// (`stats`: its maximum, and the sum of exp(logit - maximum)), which the gradient would else
// compute again. Within a function and a loop they are at hand. If a scan saves q, k, v and o for
// its backward, it saves these too.
#include <optional>
#include <vector>

#include "impl/compile/views.h"
#include "kernels/fused.h"

namespace shardproof::compile {

struct Attended {
  std::vector<Ref> operands;  ///< q, k, v, mask
  std::vector<double> scale;  ///< if constant; else it is the last operand
  MaskKind mask_kind = MaskKind::any;
  Ref o, stats;
};

/// The attentions of a plan so far.
class Attentions {
 public:
  void add(Attended made) { here_.push_back(std::move(made)); }
  /// The results kept for this function and loop.
  const std::vector<Attended>& here() const { return here_; }
  /// A function or a loop begins or ends: what is not saved would occupy memory for no use.
  void leave() { here_.clear(); }

  /// A value of a loop's body, and the stack that has that of each iteration.
  struct Saved {
    Ref value, stack;
  };
  /// The attention as the stacks have it in iteration 0, without `stats`; none if q, k, v and o
  /// are not all saved, or if the mask is of one iteration. `first`: the first buffer of the loop.
  static std::optional<Attended> saved(const Attended& made, const std::vector<Saved>& values,
                                       BufferId first);
  /// `made`: views of the stacks in iteration 0.
  void add_saved(Attended made) { saved_.push_back(std::move(made)); }

  /// o and the row statistics of the attention on these operands, if they are in memory.
  struct Left {
    Ref o, stats;
  };
  std::optional<Left> left(const Attended& wanted) const;

 private:
  std::vector<Attended> here_, saved_;
};

}  // namespace shardproof::compile
