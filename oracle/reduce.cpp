// sum, max, min, argmax: over the dims that vanish.
#include <cmath>

#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

// Where each entry of the operand goes in the result.
Positions targets(Step& step, const ir::Pattern& pattern) {
  const std::vector<Split>&left = pattern.left[0].dims, &right = pattern.right.dims;
  return positions(step.extents(left), walk(step, left, right));
}

// For each entry of the result the operand's entry that is above all others of its group; among
// equals the first. `above(a, b)`: a takes the place of b.
template <class Above>
Positions winners(const Tensor& x, const Positions& to, const Extents& shape, const Above& above) {
  Positions result(static_cast<size_t>(count(shape)), -1);
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t& best = result[static_cast<size_t>(to[i])];
    if (best < 0 || above(x.data[i], x.data[static_cast<size_t>(best)]))
      best = static_cast<int64_t>(i);
  }
  return result;
}

bool larger(double a, double b) { return less(b, a); }
// NaN passes through min as well.
bool smaller(double a, double b) { return std::isnan(b) ? false : std::isnan(a) || a < b; }

}  // namespace

bool less(double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); }

// max and min take one entry: its gradient goes back to that entry, the lowest index of a tie.
Vars apply(const ir::Reduce& op, Step& step) {
  const Var& x = step.operand(0);
  Positions to = targets(step, op.pattern);
  const Extents shape = step.shape();
  if (op.fn == ir::ReduceFn::sum) return {scatter_add(step, x, std::move(to), shape)};
  return {gather(
      step, x, winners(x->value, to, shape, op.fn == ir::ReduceFn::max ? larger : smaller), shape)};
}

Vars apply(const ir::Argmax& op, Step& step) {
  const std::vector<Split>&left = op.pattern.left[0].dims, &right = op.pattern.right.dims;
  size_t dim = 0;
  while (dim + 1 < left.size() && contains(right, left[dim].dim)) ++dim;
  const Tensor& x = step.operand(0)->value;
  Tensor result = filled(step.shape(), 0);
  const Positions best = winners(x, targets(step, op.pattern), result.shape, larger);
  const Lanes lanes(x.shape, dim);
  for (size_t i = 0; i < best.size(); ++i)
    result.data[i] = static_cast<double>(best[i] / lanes.inner % lanes.size);
  return {constant(std::move(result))};
}

}  // namespace shardproof::oracle
