#pragma once
// Ops that select, join or reverse entries along one dim, on one device.
#include <span>

#include "spec/denote/array.h"

namespace shardproof::denote {

/// x with y written from entry `first` of a dim; y may lack the dim.
template <class S>
Array<S> write(Array<S> x, size_t dim, const Array<S>& y, int64_t first) {
  paste(x, raised(y, dim, x.shape.size()), dim, first);
  return x;
}

/// Joins the operands along a dim of the result; an operand without the dim is one entry.
template <class S>
Array<S> concat(std::span<const Array<S>* const> x, size_t dim, size_t rank) {
  std::vector<Array<S>> parts;
  int64_t total = 0;
  for (const Array<S>* each : x) {
    parts.push_back(raised(*each, dim, rank));
    total += parts.back().shape.at(dim);
  }
  Extents shape = parts.at(0).shape;
  shape[dim] = total;
  Array<S> result = filled(shape, S(0));
  int64_t first = 0;
  for (const Array<S>& part : parts) {
    paste(result, part, dim, first);
    first += part.shape[dim];
  }
  return result;
}

/// Entry i of the result is entry (i - by) mod n of x.
template <class S>
Array<S> roll(const Array<S>& x, size_t dim, int64_t by) {
  const int64_t n = x.shape.at(dim), shift = ((by % n) + n) % n;
  Array<S> result = filled(x.shape, S(0));
  paste(result, cut(x, dim, n - shift, shift), dim, 0);
  paste(result, cut(x, dim, 0, n - shift), dim, shift);
  return result;
}

/// Entry i of the result is entry n-1-i of x.
template <class S>
Array<S> rev(const Array<S>& x, size_t dim) {
  const int64_t n = x.shape.at(dim);
  Array<S> result = filled(x.shape, S(0));
  for (int64_t i = 0; i < n; ++i) paste(result, cut(x, dim, i, 1), dim, n - 1 - i);
  return result;
}

}  // namespace shardproof::denote
