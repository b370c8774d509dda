#pragma once
// Loops over row-major arrays. An offset beyond an array throws std::logic_error in every build.
#include <algorithm>
#include <array>
#include <span>

#include "spec/denote/denote.h"

namespace shardproof::denote {

using Extents = std::vector<int64_t>;  ///< one per dim: sizes or strides

inline int64_t count(const Extents& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

inline Extents row_major(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Calls visit(offsets) for every index of the dims from `dim` on.
template <class Visit>
void walk_from(size_t dim, const Extents& shape, const std::vector<Extents>& strides,
               std::span<int64_t> offsets, const Visit& visit) {
  if (dim == shape.size()) return visit(offsets.data());
  const auto move = [&](int64_t by) {
    for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += by * strides[k][dim];
  };
  const bool last = dim + 1 == shape.size();
  for (int64_t i = 0; i < shape[dim]; ++i) {
    last ? visit(offsets.data()) : walk_from(dim + 1, shape, strides, offsets, visit);
    move(1);
  }
  move(-shape[dim]);
}

/// Calls visit(offsets) for every index of `shape` in row-major order; offsets[k] is the dot
/// product of the index with strides[k].
template <class Visit>
void walk(const Extents& shape, const std::vector<Extents>& strides, const Visit& visit) {
  constexpr size_t most_on_stack = 8;
  const size_t arrays = strides.size();
  for (const Extents& each : strides)
    if (each.size() != shape.size()) throw std::logic_error("strides of another number of dims");
  std::array<int64_t, most_on_stack> on_stack{};
  std::vector<int64_t> on_heap(arrays > most_on_stack ? arrays : 0);
  walk_from(0, shape, strides, {on_heap.empty() ? on_stack.data() : on_heap.data(), arrays}, visit);
}

template <class S>
Array<S> filled(const Extents& shape, const S& value) {
  return {shape, std::vector<S>(static_cast<size_t>(count(shape)), value)};
}

template <class S>
S& at(Array<S>& array, int64_t offset) {
  return array.data.at(static_cast<size_t>(offset));
}
template <class S>
const S& at(const Array<S>& array, int64_t offset) {
  return array.data.at(static_cast<size_t>(offset));
}

/// An array as `blocks` blocks of `extent` entries of one dim, each of `inner` elements. Throws
/// std::logic_error if the data does not match the shape.
struct Blocks {
  template <class S>
  Blocks(const Array<S>& x, size_t dim) : extent(x.shape.at(dim)) {
    for (size_t i = 0; i < x.shape.size(); ++i)
      if (i != dim) (i < dim ? blocks : inner) *= x.shape[i];
    if (static_cast<int64_t>(x.data.size()) != blocks * extent * inner)
      throw std::logic_error("an array of another size than its shape");
  }
  int64_t blocks = 1, extent, inner = 1;

  /// The offset of entry `first` of the dim in block b.
  std::ptrdiff_t at(int64_t b, int64_t first) const { return (b * extent + first) * inner; }
};

/// `extent` entries of one dim, starting at `first`.
template <class S>
Array<S> cut(const Array<S>& x, size_t dim, int64_t first, int64_t extent) {
  const Blocks from(x, dim);
  if (first < 0 || extent < 0 || first > from.extent - extent)
    throw OutOfRange("beyond the end of a dim");
  Array<S> result{x.shape, {}};
  result.shape[dim] = extent;
  result.data.reserve(static_cast<size_t>(from.blocks * extent * from.inner));
  for (int64_t b = 0; b < from.blocks; ++b)
    result.data.insert(result.data.end(), x.data.begin() + from.at(b, first),
                       x.data.begin() + from.at(b, first + extent));
  return result;
}

/// Copies `part` into x along one dim, starting at `first`; the other dims have equal extents.
template <class S>
void paste(Array<S>& x, const Array<S>& part, size_t dim, int64_t first) {
  if (part.shape.size() != x.shape.size()) throw Mismatch("a part of another number of dims");
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (i != dim && part.shape[i] != x.shape[i]) throw Mismatch("a part of another size");
  const Blocks to(x, dim), from(part, dim);
  if (first < 0 || first > to.extent - from.extent) throw OutOfRange("beyond the end of a dim");
  for (int64_t b = 0; b < from.blocks; ++b)
    std::copy(part.data.begin() + from.at(b, 0), part.data.begin() + from.at(b, from.extent),
              x.data.begin() + to.at(b, first));
}

/// Removes a dim with one entry.
template <class S>
Array<S> dropped(Array<S> x, size_t dim) {
  if (x.shape.at(dim) != 1) throw Mismatch("a dim of several entries cannot be dropped");
  x.shape.erase(x.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return x;
}

/// Inserts `dim` with one entry if the array has one dim less than `rank`.
template <class S>
Array<S> raised(Array<S> x, size_t dim, size_t rank) {
  if (x.shape.size() + 1 == rank && dim < rank)
    x.shape.insert(x.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  return x;
}

}  // namespace shardproof::denote
