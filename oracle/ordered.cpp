// cumsum, argsort, top_k: along one dim.
#include <algorithm>
#include <numeric>

#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

// The positions of a lane's entries in rising or falling order; equals stay in their order.
std::vector<int64_t> order_of(const Tensor& x, const Lanes& lanes, int64_t o, int64_t i,
                              bool falling) {
  std::vector<int64_t> order(static_cast<size_t>(lanes.size));
  std::iota(order.begin(), order.end(), int64_t{0});
  auto entry = [&](int64_t j) { return x.data[static_cast<size_t>(lanes.at(o, j, i))]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return falling ? less(entry(b), entry(a)) : less(entry(a), entry(b));
  });
  return order;
}

Var cumulated(Step& step, size_t dim) {
  const Var& x = step.operand(0);
  Tensor sums = x->value;
  const Lanes lanes(sums.shape, dim);
  for (int64_t o = 0; o < lanes.outer; ++o)
    for (int64_t j = 1; j < lanes.size; ++j)
      for (int64_t i = 0; i < lanes.inner; ++i)
        sums.data[static_cast<size_t>(lanes.at(o, j, i))] +=
            sums.data[static_cast<size_t>(lanes.at(o, j - 1, i))];
  return step.record(std::move(sums), {x}, [](const Node&) {
    throw std::domain_error("the gradient of a cumsum is asked for, and it has none");
  });
}

// The first `kept` numbers of each lane's order.
Tensor numbered(const Tensor& x, size_t dim, int64_t kept, bool falling, Extents shape) {
  Tensor result = filled(std::move(shape), 0);
  const Lanes from(x.shape, dim), to(result.shape, dim);
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t i = 0; i < from.inner; ++i) {
      const std::vector<int64_t> order = order_of(x, from, o, i, falling);
      for (int64_t j = 0; j < kept; ++j)
        result.data[static_cast<size_t>(to.at(o, j, i))] =
            static_cast<double>(order[static_cast<size_t>(j)]);
    }
  return result;
}

// The positions in `whole` of the entries whose numbers along `dim` are given.
Positions located(const Tensor& numbers, size_t dim, const Extents& whole) {
  const Lanes from(whole, dim), to(numbers.shape, dim);
  Positions result(numbers.data.size());
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t j = 0; j < to.size; ++j)
      for (int64_t i = 0; i < to.inner; ++i) {
        const auto at = static_cast<size_t>(to.at(o, j, i));
        result[at] = from.at(o, static_cast<int64_t>(numbers.data[at]), i);
      }
  return result;
}

}  // namespace

Vars apply(const ir::Ordered& op, Step& step) {
  if (op.fn == ir::OrderedFn::cumsum) return {cumulated(step, op.dim)};
  const Tensor& x = step.operand(0)->value;
  return {constant(numbered(x, op.dim, x.shape[op.dim], false, x.shape))};
}

Vars apply(const ir::TopK& op, Step& step) {
  const std::vector<Split>&left = op.pattern.left[0].dims, &right = op.pattern.right.dims;
  size_t dim = 0;
  while (dim + 1 < left.size() && left[dim].dim == right[dim].dim) ++dim;
  const Var& x = step.operand(0);
  const Extents shape = step.shape();
  if (shape[dim] > x->value.shape[dim])
    throw std::domain_error("the " + std::to_string(shape[dim]) + " largest of " +
                            std::to_string(x->value.shape[dim]));
  Tensor numbers = numbered(x->value, dim, shape[dim], true, shape);
  Var values = gather(step, x, located(numbers, dim, x->value.shape), shape);
  return {values, constant(std::move(numbers))};
}

}  // namespace shardproof::oracle
