#pragma once
// einsum, sum, max, min, expand and rearrange are one thing, on one device.
#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// result[right] = the sum, maximum or minimum, over the indices that are not on the right, of the
/// products of the operands' entries; along an index that is on the right alone entries repeat.
/// `extents`: of all indices of both sides.
template <class S>
Array<S> contract(ir::ReduceFn fn, const std::vector<Along>& left,
                  const std::vector<const Array<S>*>& x, const IndexExtents& extents,
                  const Positions& right) {
  Array<S> result = filled(extents.closed(right), S(0));
  const Ids kept = flat(right), order = extents.all_from(kept);
  constexpr double most_terms = 2e7;  // an einsum over 32 names has 2^32 at the least sizes
  double terms = 1;
  for (const int64_t extent : extents.of(order)) terms *= static_cast<double>(extent);
  if (terms > most_terms) throw OutOfRange("a contraction of more entries than are run");
  std::vector<Extents> strides{strides_along(order, {kept, extents.of(kept)})};
  for (const Along& each : left) strides.push_back(strides_along(order, each));
  std::vector<bool> begun(result.data.size(), false);
  walk(extents.of(order), strides, [&](const int64_t* offsets) {
    S product = at(*x.at(0), offsets[1]);
    for (size_t i = 1; i < left.size(); ++i) product = product * at(*x.at(i), offsets[i + 1]);
    S& entry = at(result, offsets[0]);
    const auto place = static_cast<size_t>(offsets[0]);
    if (!begun[place])
      entry = product;
    else if (fn == ir::ReduceFn::sum)
      entry = entry + product;
    else if (fn == ir::ReduceFn::max ? Scalar<S>::less(entry, product)
                                     : Scalar<S>::less(product, entry))
      entry = product;
    begun[place] = true;
  });
  return result;
}

}  // namespace shardproof::denote
