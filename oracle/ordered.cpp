// cumsum, argsort, top_k: along one dim.
#include <algorithm>
#include <numeric>

#include "oracle/ops.h"
#include "oracle/pattern.h"

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

Var cumulated(Site& site, size_t dim) {
  const Var& x = site.operand(0);
  Tensor sums = x->value;
  const Lanes lanes(sums.shape, dim);
  for (int64_t o = 0; o < lanes.outer; ++o)
    for (int64_t j = 1; j < lanes.size; ++j)
      for (int64_t i = 0; i < lanes.inner; ++i)
        sums.data[static_cast<size_t>(lanes.at(o, j, i))] +=
            sums.data[static_cast<size_t>(lanes.at(o, j - 1, i))];
  return site.record(std::move(sums), x->followed, [x, lanes](const Node& result) {
    Tensor after = result.gradient;
    for (int64_t o = 0; o < lanes.outer; ++o)
      for (int64_t j = lanes.size - 1; j-- > 0;)
        for (int64_t i = 0; i < lanes.inner; ++i)
          after.data[static_cast<size_t>(lanes.at(o, j, i))] +=
              after.data[static_cast<size_t>(lanes.at(o, j + 1, i))];
    contribute(x, after);
  });
}

// The first `kept` numbers of each lane's order.
std::vector<double> numbered(const Tensor& x, const Lanes& from, int64_t kept, bool falling) {
  const Lanes to(from.outer, kept, from.inner);
  std::vector<double> result(static_cast<size_t>(from.outer * kept * from.inner));
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t i = 0; i < from.inner; ++i) {
      const std::vector<int64_t> order = order_of(x, from, o, i, falling);
      for (int64_t j = 0; j < kept; ++j)
        result[static_cast<size_t>(to.at(o, j, i))] =
            static_cast<double>(order[static_cast<size_t>(j)]);
    }
  return result;
}

// Where the entries are whose numbers along the lanes are given.
Positions located(const std::vector<double>& numbers, const Lanes& from, int64_t kept) {
  const Lanes to(from.outer, kept, from.inner);
  Positions result(numbers.size());
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t j = 0; j < to.size; ++j)
      for (int64_t i = 0; i < to.inner; ++i) {
        const auto at = static_cast<size_t>(to.at(o, j, i));
        result[at] = from.at(o, static_cast<int64_t>(numbers[at]), i);
      }
  return result;
}

// The left side with `now` in the place of what the right side lacks.
Indices replaced(const Indices& left, const Indices& right, const Indices& now) {
  Indices result;
  for (size_t index : left) {
    if (has(right, index)) {
      result.push_back(index);
    } else if (!has(result, now.at(0))) {
      result.insert(result.end(), now.begin(), now.end());
    }
  }
  return result;
}

}  // namespace

Vars apply(const ir::Ordered& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::plain, 1);
  const Reading& reading = *read;
  if (reading.right != reading.left[0]) throw std::domain_error("the result has the same dims");
  const Tensor& x = site.operand(0)->value;
  if (op.dim >= x.shape.size()) throw std::domain_error("there is no dim to work on");
  if (op.fn == ir::OrderedFn::cumsum) return {cumulated(site, op.dim)};
  return {constant({x.shape, numbered(x, Lanes(x.shape, op.dim), x.shape[op.dim], false), {}})};
}

Vars apply(const ir::TopK& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::extends, 1);
  const Reading& reading = *read;
  const Indices &left = reading.left[0], &right = reading.right;
  const Indices now = without(right, left);
  const Stretch gone = stretch_of(reading, left, without(left, right));
  const int64_t kept = stretch_of(reading, right, now).size;
  if (kept > gone.size)
    throw std::domain_error("the " + std::to_string(kept) + " largest of " +
                            std::to_string(gone.size));
  const Tensor& x = site.operand(0)->value;
  const Lanes lanes(count(x.shape) / (gone.size * gone.stride), gone.size, gone.stride);
  const std::vector<double> numbers = numbered(x, lanes, kept, true);
  const Positions from = located(numbers, lanes, kept);
  Tensor places = filled(site.shape(), 0);
  Positions order = reading.walk(right, replaced(left, right, now));
  for (size_t i = 0; i < order.size(); ++i) {
    places.data.at(i) = numbers[static_cast<size_t>(order[i])];
    order[i] = from[static_cast<size_t>(order[i])];
  }
  return {gather(site, site.operand(0), std::move(order), site.shape()),
          constant(std::move(places))};
}

}  // namespace shardproof::oracle
