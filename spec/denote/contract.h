#pragma once
// Sums over labels, on one device.
#include "spec/denote/array.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The sum of products over the labels that are not in `right`.
template <class S>
Array<S> einsum(const std::vector<Labels>& labels, const std::vector<const Array<S>*>& x,
                const Labels& right) {
  LabelSizes sizes;
  for (size_t i = 0; i < x.size(); ++i) sizes.add(labels.at(i), x[i]->shape);
  Labels order = right;
  for (const Dim& label : sizes.labels())
    if (!has(right, label)) order.push_back(label);
  Array<S> result = filled(sizes.of(right), S(0));
  std::vector<Extents> strides{strides_along(order, right, result.shape)};
  for (size_t i = 0; i < x.size(); ++i)
    strides.push_back(strides_along(order, labels[i], x[i]->shape));
  walk(sizes.of(order), strides, [&](const int64_t* offsets) {
    S product = at(*x[0], offsets[1]);
    for (size_t i = 1; i < x.size(); ++i) product = product * at(*x[i], offsets[i + 1]);
    S& sum = at(result, offsets[0]);
    sum = sum + product;
  });
  return result;
}

/// Sum, maximum or minimum over the labels that are not in `right`.
template <class S>
Array<S> reduce(ir::ReduceFn fn, const Labels& left, const Array<S>& x, const Labels& right) {
  if (fn == ir::ReduceFn::sum) return einsum<S>({left}, {&x}, right);
  LabelSizes sizes;
  sizes.add(left, x.shape);
  Array<S> result = filled(sizes.of(right), S(0));
  std::vector<bool> begun(result.data.size(), false);
  walk(x.shape, {strides_along(left, right, result.shape), row_major(x.shape)},
       [&](const int64_t* offsets) {
         S& best = at(result, offsets[0]);
         const S& entry = at(x, offsets[1]);
         const bool better =
             fn == ir::ReduceFn::max ? Scalar<S>::less(best, entry) : Scalar<S>::less(entry, best);
         if (better || !begun[static_cast<size_t>(offsets[0])]) best = entry;
         begun[static_cast<size_t>(offsets[0])] = true;
       });
  return result;
}

}  // namespace shardproof::denote
