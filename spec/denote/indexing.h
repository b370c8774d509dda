#pragma once
// Reads and adds at indices that are data, on one device.
#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The device's part [offset, offset + extent) of a dim. `partial`: an index of another device's
/// part counts as 0 here.
struct Window {
  int64_t offset = 0;
  bool partial = false;
};

/// The local row for index `i`; -1 if it belongs to another device.
inline int64_t row(int64_t i, int64_t extent, const Window& window) {
  const int64_t own = i - window.offset;
  if (own >= 0 && own < extent) return own;
  if (!window.partial)
    throw OutOfRange("entry " + std::to_string(i) + " of " + std::to_string(extent));
  return -1;
}

/// result[right] = table[.., ids[..], ..]. `bracket`: the table's position that is read; its
/// indices occur nowhere else.
template <class S>
Array<S> index(const Along& along_table, const Array<S>& table, size_t bracket,
               const Along& along_ids, const Array<S>& ids, const IndexExtents& extents,
               const Positions& right, const Window& window) {
  const int64_t extent = table.shape.at(bracket), stride = row_major(table.shape)[bracket];
  const Ids kept = flat(right);
  Array<S> result{extents.closed(right), {}};
  walk(extents.of(kept), {strides_along(kept, along_table), strides_along(kept, along_ids)},
       [&](const int64_t* offsets) {
         const int64_t own = row(Scalar<S>::integer(at(ids, offsets[1])), extent, window);
         result.data.push_back(own < 0 ? S(0) : at(table, offsets[0] + own * stride));
       });
  return result;
}

/// result[.., ids[..], ..] += x[..], summed over indices of ids and x that the result lacks.
/// `extents`: of all indices of ids and x. `bracket`: the result's position that is added to.
template <class S>
Array<S> index_add(const Along& along_ids, const Array<S>& ids, const Along& along_x,
                   const Array<S>& x, const IndexExtents& extents, const Along& along_result,
                   const Extents& shape, size_t bracket, const Window& window) {
  Array<S> result = filled(shape, S(0));
  const Ids all = extents.all_from({});
  const int64_t extent = shape.at(bracket), stride = row_major(shape)[bracket];
  walk(extents.of(all),
       {strides_along(all, along_result), strides_along(all, along_ids),
        strides_along(all, along_x)},
       [&](const int64_t* offsets) {
         const int64_t own = row(Scalar<S>::integer(at(ids, offsets[1])), extent, window);
         if (own < 0) return;
         S& sum = at(result, offsets[0] + own * stride);
         sum = sum + at(x, offsets[2]);
       });
  return result;
}

}  // namespace shardproof::denote
