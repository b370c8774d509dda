// sum, max, min, argmax: over the dims that vanish.
#include <cmath>

#include "oracle/ops.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {
namespace {

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
Vars apply(const ir::Reduce& op, Site& site) {
  const Var& x = site.operand(0);
  const auto read = read_pattern(site, op.pattern, Form::plain, 1);
  const Reading& reading = *read;
  Positions to = reading.walk(reading.left[0], reading.right);
  const Extents& shape = site.shape();
  if (op.fn == ir::ReduceFn::sum) return {scatter_add(site, x, std::move(to), shape)};
  return {gather(
      site, x, winners(x->value, to, shape, op.fn == ir::ReduceFn::max ? larger : smaller), shape)};
}

Vars apply(const ir::Argmax& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::plain, 1);
  const Reading& reading = *read;
  const Indices& left = reading.left[0];
  const Stretch gone = stretch_of(reading, left, without(left, reading.right));
  const Positions best =
      winners(site.operand(0)->value, reading.walk(left, reading.right), site.shape(), larger);
  Tensor result = filled(site.shape(), 0);
  for (size_t i = 0; i < best.size(); ++i)
    result.data[i] = static_cast<double>(best[i] / gone.stride % gone.size);
  return {constant(std::move(result))};
}

}  // namespace shardproof::oracle
