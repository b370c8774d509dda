#pragma once
// Reads and adds at indices that are data, on one device.
#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The dim that is read or added to: its local extent and stride, and the device's part [offset,
/// offset + extent) of it. `partial`: an index of another device's part counts as 0 here.
struct Window {
  int64_t extent, stride;
  int64_t offset = 0;
  bool partial = false;

  /// The offset of the row for index `i`; -1 if it belongs to another device.
  int64_t row(int64_t i) const {
    const int64_t own = i - offset;
    if (own >= 0 && own < extent) return own * stride;
    if (!partial) throw OutOfRange("entry " + std::to_string(i) + " of " + std::to_string(extent));
    return -1;
  }
};

/// result[right] = table[.., ids[..], ..]. `how`: of table and ids over the result's indices.
template <class S>
void index(const Loops& how, std::span<const S> table, std::span<const S> ids, const Window& window,
           std::span<S> result) {
  int64_t next = 0;
  walk(how, [&](const int64_t* offsets) {
    const int64_t own = window.row(Scalar<S>::integer(at(ids, offsets[1])));
    at(result, next++) = own < 0 ? S(0) : at(table, offsets[0] + own);
  });
}

/// result[.., ids[..], ..] += x[..]. `how`: of ids, x and the result over the indices of ids and x.
template <class S>
void index_add(const Loops& how, std::span<const S> ids, std::span<const S> x, const Window& window,
               std::span<S> result) {
  walk(how, [&](const int64_t* offsets) {
    const int64_t own = window.row(Scalar<S>::integer(at(ids, offsets[0])));
    if (own < 0) return;
    S& sum = at(result, offsets[2] + own);
    sum = sum + at(x, offsets[1]);
  });
}

}  // namespace shardproof::denote
