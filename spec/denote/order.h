#pragma once
// Ops that depend on the order along one whole dim, on one device. Ties: the lowest index first.
#include <algorithm>
#include <numeric>

#include "spec/denote/array.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// Calls visit(line, write) for each line of x along `dim`; write stores entry i of the result's
/// line.
template <class S, class Visit>
Array<S> along(const Array<S>& x, size_t dim, int64_t result_extent, Visit visit) {
  Extents outer = x.shape, shape = x.shape;
  outer.at(dim) = 1;
  shape[dim] = result_extent;
  Array<S> result = filled(shape, S(0));
  const int64_t from = row_major(x.shape)[dim], to = row_major(shape)[dim];
  std::vector<S> line;
  walk(outer, {row_major(x.shape), row_major(shape)}, [&](const int64_t* offsets) {
    line.clear();
    for (int64_t i = 0; i < x.shape[dim]; ++i) line.push_back(at(x, offsets[0] + i * from));
    const int64_t base = offsets[1];
    visit(line, [&](int64_t i, const S& value) { at(result, base + i * to) = value; });
  });
  return result;
}

template <class S>
Array<S> cumsum(const Array<S>& x, size_t dim) {
  return along(x, dim, x.shape.at(dim), [](const std::vector<S>& line, auto store) {
    S sum = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      sum = sum + line[i];
      store(static_cast<int64_t>(i), sum);
    }
  });
}

/// The positions of the entries in the order `before`, stable.
template <class S, class Before>
std::vector<int64_t> sorted(const std::vector<S>& line, Before before) {
  std::vector<int64_t> positions(line.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](int64_t i, int64_t j) {
    return before(line[static_cast<size_t>(i)], line[static_cast<size_t>(j)]);
  });
  return positions;
}

/// The positions in ascending order of the entries.
template <class S>
Array<S> argsort(const Array<S>& x, size_t dim) {
  return along(x, dim, x.shape.at(dim), [](const std::vector<S>& line, auto store) {
    const auto order = sorted(line, below<S>);
    for (size_t i = 0; i < order.size(); ++i) store(static_cast<int64_t>(i), S(order[i]));
  });
}

/// The `k` largest entries along `dim`, descending: their values, or their positions.
template <class S>
Array<S> largest(const Array<S>& x, size_t dim, int64_t k, bool positions) {
  if (k > x.shape.at(dim)) throw OutOfRange("top_k of more entries than there are");
  return along(x, dim, k, [&](const std::vector<S>& line, auto store) {
    auto greater = [](const S& a, const S& b) { return below(b, a); };
    const auto order = sorted(line, greater);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t place = order[static_cast<size_t>(i)];
      store(i, positions ? S(place) : line[static_cast<size_t>(place)]);
    }
  });
}

}  // namespace shardproof::denote
