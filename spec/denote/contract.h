#pragma once
// einsum, sum, max, min, expand and rearrange are one loop nest on each device.
#include <span>

#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// result[right] = the sum, maximum or minimum of the products of the operands' entries, over the
/// indices that are not on the right. Entries repeat along an index that is only on the right.
template <class S>
Array<S> contract(ir::ReduceFn fn, const Meeting& how, std::span<const Array<S>* const> x) {
  if (x.empty() || how.strides.size() != x.size() + 1)
    throw std::logic_error("a loop nest of other operands");
  constexpr double most_terms = 2e7;  // an einsum over 32 names has 2^32 terms even at size 2
  double terms = 1;
  for (const int64_t extent : how.extents) terms *= static_cast<double>(extent);
  if (terms > most_terms) throw OutOfRange("a contraction of more entries than are run");
  Array<S> result = filled(how.shape, S(0));
  int64_t begun = -1;  // the result's indices are the outer loops: one entry is finished at a time
  walk(how.extents, how.strides, [&](const int64_t* offsets) {
    S product = at(*x[0], offsets[1]);
    for (size_t i = 1; i < x.size(); ++i) product = product * at(*x[i], offsets[i + 1]);
    S& entry = at(result, offsets[0]);
    if (begun != offsets[0])
      entry = product;
    else if (fn == ir::ReduceFn::sum)
      entry = entry + product;
    else if (fn == ir::ReduceFn::max ? below(entry, product) : above(entry, product))
      entry = product;
    begun = offsets[0];
  });
  return result;
}

}  // namespace shardproof::denote
