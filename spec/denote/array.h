#pragma once
// Loops over row-major arrays. An offset beyond an array throws std::logic_error in every build.
#include "spec/denote/denote.h"

namespace shardproof::denote {

using Extents = std::vector<int64_t>;  ///< of a shape or, as strides, per dim

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

/// Calls visit(offsets) for every index of `shape`, row-major: offsets[k] is the dot product of the
/// index with strides[k].
template <class Visit>
void walk(const Extents& shape, const std::vector<Extents>& strides, Visit visit) {
  const int64_t total = count(shape);
  const size_t rank = shape.size(), arrays = strides.size();
  for (const Extents& each : strides)
    if (each.size() != rank) throw std::logic_error("strides of another number of dims");
  Extents index(rank, 0), offsets(arrays, 0);
  for (int64_t step = 0; step < total; ++step) {
    visit(offsets.data());
    for (size_t i = rank; i-- > 0;) {
      const bool carry = ++index[i] == shape[i];
      const int64_t move = carry ? 1 - shape[i] : 1;
      for (size_t k = 0; k < arrays; ++k) offsets[k] += move * strides[k][i];
      if (!carry) break;
      index[i] = 0;
    }
  }
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

/// `extent` entries of one dim, from `first` on.
template <class S>
Array<S> cut(const Array<S>& x, size_t dim, int64_t first, int64_t extent) {
  if (first < 0 || first > x.shape.at(dim) - extent) throw OutOfRange("beyond the end of a dim");
  Array<S> result{x.shape, {}};
  result.shape[dim] = extent;
  const Extents strides = row_major(x.shape);
  walk(result.shape, {strides},
       [&](const int64_t* at_) { result.data.push_back(at(x, at_[0] + first * strides[dim])); });
  return result;
}

/// Copies `part` into x along one dim, from `first` on; the other dims have the same extents.
template <class S>
void paste(Array<S>& x, const Array<S>& part, size_t dim, int64_t first) {
  if (part.shape.size() != x.shape.size()) throw Mismatch("a part of another number of dims");
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (i != dim && part.shape[i] != x.shape[i]) throw Mismatch("a part of another size");
  if (first < 0 || first > x.shape.at(dim) - part.shape[dim])
    throw OutOfRange("beyond the end of a dim");
  const Extents strides = row_major(x.shape);
  walk(part.shape, {strides, row_major(part.shape)},
       [&](const int64_t* at_) { at(x, at_[0] + first * strides[dim]) = at(part, at_[1]); });
}

/// The array without a dim of one entry.
template <class S>
Array<S> dropped(Array<S> x, size_t dim) {
  if (x.shape.at(dim) != 1) throw Mismatch("a dim of several entries cannot be dropped");
  x.shape.erase(x.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return x;
}

/// The array with as many dims as `rank`: where it has one less, with one entry along `dim`.
template <class S>
Array<S> raised(Array<S> x, size_t dim, size_t rank) {
  if (x.shape.size() + 1 == rank && dim < rank)
    x.shape.insert(x.shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  return x;
}

}  // namespace shardproof::denote
