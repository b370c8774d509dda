#pragma once
// Reading and adding at indices that are data, on one device.
#include "spec/denote/array.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The part [offset, offset + extent) of a dim that the device has; `partial`: entries beyond it
/// are another device's, so that they count as 0.
struct Window {
  int64_t offset = 0;
  bool partial = false;
};

/// The row of the window that index `i` names; -1: another device's.
inline int64_t row(int64_t i, int64_t extent, const Window& window) {
  const int64_t own = i - window.offset;
  if (own >= 0 && own < extent) return own;
  if (!window.partial)
    throw OutOfRange("entry " + std::to_string(i) + " of " + std::to_string(extent));
  return -1;
}

/// result[right] = table[.., ids[..], ..]; dims that table and ids share are paired.
template <class S>
Array<S> index(const Labels& left, size_t bracket, const Array<S>& table, const Labels& id_labels,
               const Array<S>& ids, const Labels& right, const Window& window) {
  const Dim& indexed = left.at(bracket);
  const int64_t extent = table.shape.at(bracket), stride = row_major(table.shape)[bracket];
  LabelSizes sizes;
  for (size_t i = 0; i < left.size(); ++i)
    if (i != bracket) sizes.add(left[i], table.shape[i]);
  sizes.add(id_labels, ids.shape);
  Labels rest = left;
  rest[bracket] = Dim{{"[" + to_string(indexed) + "]"}};  // an id's dim may have the same name
  Array<S> result{sizes.of(right), {}};
  const std::vector<Extents> strides{strides_along(right, rest, table.shape),
                                     strides_along(right, id_labels, ids.shape)};
  walk(result.shape, strides, [&](const int64_t* offsets) {
    const int64_t own = row(Scalar<S>::integer(at(ids, offsets[1])), extent, window);
    result.data.push_back(own < 0 ? S(0) : at(table, offsets[0] + own * stride));
  });
  return result;
}

/// result[.., ids[..], ..] += x[..]; dims of ids and x that the result lacks are added up.
template <class S>
Array<S> index_add(const Labels& id_labels, const Array<S>& ids, const Labels& x_labels,
                   const Array<S>& x, const Labels& right, size_t bracket, int64_t extent,
                   const Window& window) {
  LabelSizes sizes;
  sizes.add(id_labels, ids.shape);
  sizes.add(x_labels, x.shape);
  Extents shape;
  for (size_t i = 0; i < right.size(); ++i)
    shape.push_back(i == bracket ? extent : sizes.of(right[i]));
  Array<S> result = filled(shape, S(0));
  Labels rest = right;
  rest[bracket] = Dim{{"[" + to_string(right[bracket]) + "]"}};
  const Labels& all = sizes.labels();
  const int64_t stride = row_major(shape)[bracket];
  const std::vector<Extents> strides{strides_along(all, rest, shape),
                                     strides_along(all, id_labels, ids.shape),
                                     strides_along(all, x_labels, x.shape)};
  walk(sizes.of(all), strides, [&](const int64_t* offsets) {
    const int64_t own = row(Scalar<S>::integer(at(ids, offsets[1])), extent, window);
    if (own < 0) return;
    S& sum = at(result, offsets[0] + own * stride);
    sum = sum + at(x, offsets[2]);
  });
  return result;
}

}  // namespace shardproof::denote
