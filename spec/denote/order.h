#pragma once
// Ops that depend on the order along one whole dim, on each device. Ties: the lowest index first.
#include <algorithm>
#include <numeric>

#include "spec/denote/array.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// Calls visit(line, offset, stride) for each line of x along `dim`: the first entry of the
/// result's line, whose dim has `result_extent` entries, and the distance to the next.
template <class S, class Visit>
void along(const Distributed<S>& x, size_t dim, int64_t result_extent, Visit visit) {
  const Blocks own(x.shape(), dim);
  const int64_t blocks = own.blocks * static_cast<int64_t>(x.size());
  std::vector<S> line(static_cast<size_t>(own.extent), S(0));
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < own.inner; ++i) {
      for (int64_t k = 0; k < own.extent; ++k)
        line[static_cast<size_t>(k)] = x.all()[static_cast<size_t>(own.at(b, k) + i)];
      visit(line, b * result_extent * own.inner + i, own.inner);
    }
}

template <class S>
Distributed<S> cumsum(const Distributed<S>& x, size_t dim) {
  Distributed<S> result(x.size(), x.shape());
  along(x, dim, x.shape().at(dim), [&](const std::vector<S>& line, int64_t offset, int64_t stride) {
    S sum = 0;
    for (size_t i = 0; i < line.size(); ++i, offset += stride)
      at(result.all(), offset) = sum = sum + line[i];
  });
  return result;
}

/// Makes `positions` those of the entries in the order `before`, stable.
template <class S, class Before>
void sort(const std::vector<S>& line, Before before, std::vector<int64_t>& positions) {
  positions.resize(line.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](int64_t i, int64_t j) {
    return before(line[static_cast<size_t>(i)], line[static_cast<size_t>(j)]);
  });
}

/// The positions in ascending order of the entries.
template <class S>
Distributed<S> argsort(const Distributed<S>& x, size_t dim) {
  Distributed<S> result(x.size(), x.shape());
  std::vector<int64_t> order;
  along(x, dim, x.shape().at(dim), [&](const std::vector<S>& line, int64_t offset, int64_t stride) {
    sort(line, below<S>, order);
    for (size_t i = 0; i < order.size(); ++i, offset += stride)
      at(result.all(), offset) = S(order[i]);
  });
  return result;
}

template <class S>
struct Largest {
  Distributed<S> values, positions;
};
/// The `k` largest entries along `dim`, descending, and their positions.
template <class S>
Largest<S> largest(const Distributed<S>& x, size_t dim, int64_t k) {
  if (k > x.shape().at(dim)) throw OutOfRange("top_k of more entries than there are");
  const Distributed<S> none(x.size(), resized(x.shape(), dim, k));
  Largest<S> result{none, none};
  std::vector<int64_t> order;
  along(x, dim, k, [&](const std::vector<S>& line, int64_t offset, int64_t stride) {
    sort(
        line, [](const S& a, const S& b) { return below(b, a); }, order);
    for (size_t i = 0; i < static_cast<size_t>(k); ++i, offset += stride) {
      at(result.values.all(), offset) = line[static_cast<size_t>(order[i])];
      at(result.positions.all(), offset) = S(order[i]);
    }
  });
  return result;
}

}  // namespace shardproof::denote
