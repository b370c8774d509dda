#include "properties/faults/families.h"

namespace shardproof::faults {

Faults faults_of(const Ground& ground) {
  constexpr Generator generators[] = {
      drop_collectives, exchange_collectives, other_axes,  other_dims,    invariant_copies,
      drop_summands,    drop_scales,          axis_scales, swap_operands, stale_values,
      offsets,          other_labels,         other_totals};
  Faults faults;
  for_each_site(ground, [&](const Site& site) {
    for (Generator generator : generators) generator(ground, site, faults);
  });
  return faults;
}

}  // namespace shardproof::faults
