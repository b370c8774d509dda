#pragma once
// Collectives drawn by RapidCheck, for the laws of every kind of communicator.
#include <rapidcheck.h>

#include "properties/collectives/case.h"

namespace shardproof::properties {

inline constexpr Element elements[] = {Element::f64, Element::f32, Element::bf16, Element::i32,
                                       Element::u32, Element::u8,  Element::u64};
inline constexpr Reduction reductions[] = {Reduction::sum, Reduction::max, Reduction::min};
inline constexpr Collective collectives[] = {Collective::all_gather, Collective::all_reduce,
                                             Collective::reduce_scatter, Collective::all_to_all,
                                             Collective::permute};

template <class T, size_t n>
T drawn(const T (&values)[n]) {
  return *rc::gen::elementOf(std::vector<T>(values, values + n));
}

/// Up to 8 ranks; any axes of the mesh in any order.
inline void draw_groups(CollectiveCase& c) {
  const size_t axes = *rc::gen::element(1, 2, 3);
  for (size_t axis = 0; axis < axes; ++axis) {
    const int left = 8 / world_of(c);
    c.mesh.push_back(std::min(left, *rc::gen::element(1, 2, 3, 4, 5, 8)));
    if (*rc::gen::element(true, true, false))
      c.over.insert(c.over.begin() + (*rc::gen::arbitrary<bool>() ? c.over.size() : 0), axis);
  }
}

inline CollectiveCase drawn_case(Collective collective) {
  CollectiveCase c;
  draw_groups(c);
  c.call = {collective, drawn(elements), drawn(reductions)};
  // Beyond the sizes up to which a rank reduces everything itself.
  c.call.count = *rc::gen::element<size_t>(0, 1, 7, 64, 999, 12'000);
  c.call.to = *rc::gen::element(0, 1, 2, 5);
  c.dyadic = *rc::gen::arbitrary<bool>();
  c.seed = *rc::gen::inRange(0u, 1000u);
  return c;
}

}  // namespace shardproof::properties
