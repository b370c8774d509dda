#pragma once
// Loops over row-major arrays. An offset beyond an array throws std::logic_error in every build.
#include <algorithm>
#include <array>

#include "spec/denote/denote.h"

namespace shardproof::denote {

inline Extents row_major(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Nested loops over several arrays at once.
struct Loops {
  size_t arrays = 1;
  Extents extents;  ///< by loop
  Extents strides;  ///< by loop, then by array

  /// The end of the entries that the loops reach in an array.
  int64_t reach(size_t array) const {
    int64_t last = 0;
    for (size_t loop = 0; loop < extents.size(); ++loop) {
      if (extents[loop] == 0) return 0;
      last += (extents[loop] - 1) * strides[loop * arrays + array];
    }
    return last + 1;
  }
};

/// Calls row(offsets, extent, strides) for every index of the loops from `loop` on but the last.
template <class Row>
void walk_from(size_t loop, const Loops& loops, int64_t* offsets, const Row& row) {
  const int64_t* strides = loops.strides.data() + loop * loops.arrays;
  if (loop + 1 == loops.extents.size()) return row(offsets, loops.extents[loop], strides);
  const int64_t extent = loops.extents[loop];
  for (int64_t i = 0; i < extent; ++i) {
    walk_from(loop + 1, loops, offsets, row);
    for (size_t k = 0; k < loops.arrays; ++k) offsets[k] += strides[k];
  }
  for (size_t k = 0; k < loops.arrays; ++k) offsets[k] -= extent * strides[k];
}

/// Calls row(offsets, extent, strides) for every index of all loops but the last, which has
/// `extent` steps; offsets[k] is the dot product of the index with the strides of array k.
template <class Row>
void walk_rows(const Loops& loops, const Row& row) {
  constexpr size_t most_on_stack = 8;
  if (loops.strides.size() != loops.extents.size() * loops.arrays)
    throw std::logic_error("strides of another number of dims");
  std::array<int64_t, most_on_stack> on_stack{};
  std::vector<int64_t> on_heap(loops.arrays > most_on_stack ? loops.arrays : 0);
  int64_t* const offsets = on_heap.empty() ? on_stack.data() : on_heap.data();
  if (loops.extents.empty())
    row(offsets, 1, Extents(loops.arrays).data());
  else
    walk_from(0, loops, offsets, row);
}

/// Calls visit(offsets) for every index of the loops, the last one fastest.
template <class Visit>
void walk(const Loops& loops, const Visit& visit) {
  walk_rows(loops, [&](int64_t* offsets, int64_t extent, const int64_t* strides) {
    for (int64_t i = 0; i < extent; ++i) {
      visit(offsets);
      for (size_t k = 0; k < loops.arrays; ++k) offsets[k] += strides[k];
    }
    for (size_t k = 0; k < loops.arrays; ++k) offsets[k] -= extent * strides[k];
  });
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
template <class S>
S& at(std::span<S> entries, int64_t offset) {
  if (static_cast<size_t>(offset) >= entries.size()) throw std::out_of_range("no such entry");
  return entries[static_cast<size_t>(offset)];
}

/// An array as `blocks` blocks of `extent` entries of one dim, each of `inner` elements.
struct Blocks {
  Blocks(const Extents& shape, size_t dim) : extent(shape.at(dim)) {
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != dim) (i < dim ? blocks : inner) *= shape[i];
  }
  int64_t blocks = 1, extent, inner = 1;

  /// The offset of entry `first` of the dim in block b.
  std::ptrdiff_t at(int64_t b, int64_t first) const { return (b * extent + first) * inner; }
};

/// Copies `extent` entries of one dim of x, from entry `first` on, to y from entry `to` on.
template <class S>
void copy_entries(std::type_identity_t<std::span<const S>> x, const Blocks& of_x, int64_t first,
                  std::span<S> y, const Blocks& of_y, int64_t to, int64_t extent) {
  if (of_x.blocks != of_y.blocks || of_x.inner != of_y.inner)
    throw Mismatch("a part of another size");
  if (static_cast<int64_t>(x.size()) != of_x.at(of_x.blocks, 0) ||
      static_cast<int64_t>(y.size()) != of_y.at(of_y.blocks, 0))
    throw std::logic_error("an array of another size than its shape");
  if (first < 0 || to < 0 || extent < 0 || first > of_x.extent - extent ||
      to > of_y.extent - extent)
    throw OutOfRange("beyond the end of a dim");
  for (int64_t b = 0; b < of_x.blocks; ++b)
    std::copy_n(x.begin() + of_x.at(b, first), extent * of_x.inner, y.begin() + of_y.at(b, to));
}

/// The shape with `extent` entries along a dim.
inline Extents resized(Extents shape, size_t dim, int64_t extent) {
  shape.at(dim) = extent;
  return shape;
}

/// The shape without a dim, which has one entry.
inline Extents dropped(Extents shape, size_t dim) {
  if (shape.at(dim) != 1) throw Mismatch("a dim of several entries cannot be dropped");
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return shape;
}

/// The shape of a part of an array with `rank` dims. A part that lacks `dim` is one entry of it.
inline Extents raised(Extents shape, size_t dim, size_t rank) {
  if (shape.size() + 1 == rank && dim < rank)
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  return shape;
}

/// Requires that two shapes have equal extents but along `dim`.
inline void need_part(const Extents& whole, const Extents& part, size_t dim) {
  if (part.size() != whole.size()) throw Mismatch("a part of another number of dims");
  for (size_t i = 0; i < whole.size(); ++i)
    if (i != dim && part[i] != whole[i]) throw Mismatch("a part of another size");
}

}  // namespace shardproof::denote
