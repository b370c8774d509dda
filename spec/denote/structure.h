#pragma once
// Ops that select, join or reverse entries along one dim, on each device. `first` and `by` give a
// device's number.
#include <span>

#include "spec/denote/array.h"

namespace shardproof::denote {

/// `extent` entries of a dim, from entry first(device) on. `drops`: one entry, without the dim.
template <class S, class First>
Distributed<S> cut(const Distributed<S>& x, size_t dim, int64_t extent, bool drops, First first) {
  const Extents shape = resized(x.shape(), dim, extent);
  const Blocks from(x.shape(), dim), to(shape, dim);
  Distributed<S> result(x.size(), drops ? dropped(shape, dim) : shape);
  for (size_t device = 0; device < x.size(); ++device)
    copy_entries(x.on(device), from, first(device), result.on(device), to, 0, extent);
  return result;
}

/// x with y written from entry first(device) of a dim; y may lack the dim.
template <class S, class First>
Distributed<S> write(Distributed<S> x, size_t dim, const Distributed<S>& y, First first) {
  const Extents part = raised(y.shape(), dim, x.shape().size());
  need_part(x.shape(), part, dim);
  const Blocks from(part, dim), to(x.shape(), dim);
  for (size_t device = 0; device < x.size(); ++device)
    copy_entries(y.on(device), from, 0, x.on(device), to, first(device), from.extent);
  return x;
}

/// Joins the operands along a dim of the result; an operand without the dim is one entry.
template <class S>
Distributed<S> concat(const std::vector<Held<S>>& x, size_t dim, size_t rank) {
  Extents shape = raised(x.at(0).value.shape(), dim, rank);
  shape.at(dim) = 0;
  for (const Held<S>& each : x) {
    const Extents part = raised(each.value.shape(), dim, rank);
    need_part(shape, part, dim);
    shape[dim] += part[dim];
  }
  Distributed<S> result(x[0].value.size(), shape);
  const Blocks to(shape, dim);
  int64_t first = 0;
  for (const Held<S>& each : x) {
    const Blocks from(raised(each.value.shape(), dim, rank), dim);
    for (size_t device = 0; device < result.size(); ++device)
      copy_entries(each.value.on(device), from, 0, result.on(device), to, first, from.extent);
    first += from.extent;
  }
  return result;
}

/// Entry i of the result is entry (i - by(device)) mod n of x.
template <class S, class By>
Distributed<S> roll(const Distributed<S>& x, size_t dim, By by) {
  const Blocks own(x.shape(), dim);
  const int64_t n = own.extent;
  Distributed<S> result(x.size(), x.shape());
  for (size_t device = 0; device < x.size(); ++device) {
    const int64_t shift = ((by(device) % n) + n) % n;
    copy_entries(x.on(device), own, n - shift, result.on(device), own, 0, shift);
    copy_entries(x.on(device), own, 0, result.on(device), own, shift, n - shift);
  }
  return result;
}

/// Entry i of the result is entry n-1-i of x.
template <class S>
Distributed<S> rev(const Distributed<S>& x, size_t dim) {
  const Blocks own(x.shape(), dim);
  Distributed<S> result(x.size(), x.shape());
  for (size_t device = 0; device < x.size(); ++device)
    for (int64_t i = 0; i < own.extent; ++i)
      copy_entries(x.on(device), own, i, result.on(device), own, own.extent - 1 - i, 1);
  return result;
}

}  // namespace shardproof::denote
