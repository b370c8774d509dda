#pragma once
// einsum, sum, max, min, expand and rearrange are one loop nest on each device.
#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// result[right] = the sum, maximum or minimum of the products of the operands' entries, over the
/// indices that are not on the right. Entries repeat along an index that is only on the right.
/// `how`: over the devices, the result's indices, then the others; the result is the last array.
template <class S>
Distributed<S> contract(ir::ReduceFn fn, const Nest& how, const std::vector<Held<S>>& x) {
  const Loops& loops = how.loops;
  if (x.empty() || loops.arrays != x.size() + 1)
    throw std::logic_error("a loop nest of other operands");
  constexpr double most_terms = 2e7;  // an einsum over 32 names has 2^32 terms even at size 2
  double terms = 1;
  for (size_t i = 1; i < loops.extents.size(); ++i) terms *= static_cast<double>(loops.extents[i]);
  if (terms > most_terms) throw OutOfRange("a contraction of more entries than are run");
  Distributed<S> result(x[0].value.size(), how.shape);
  need_reach(loops, x);
  if (loops.reach(x.size()) > static_cast<int64_t>(result.all().size()))
    throw std::logic_error("a result of another size than its loop nest");
  const S* begun = nullptr;  // the result's indices are the outer loops: one entry at a time
  walk_rows(loops, [&](const int64_t* offsets, int64_t extent, const int64_t* strides) {
    for (int64_t k = 0; k < extent; ++k) {
      const auto entry = [&](size_t array) { return offsets[array] + k * strides[array]; };
      S product = x[0].value.all().data()[entry(0)];
      for (size_t i = 1; i < x.size(); ++i) product = product * x[i].value.all().data()[entry(i)];
      S& sum = result.all().data()[entry(x.size())];
      if (begun != &sum)
        sum = product;
      else if (fn == ir::ReduceFn::sum)
        sum = sum + product;
      else if (fn == ir::ReduceFn::max ? below(sum, product) : above(sum, product))
        sum = product;
      begun = &sum;
    }
  });
  return result;
}

}  // namespace shardproof::denote
