#pragma once
// Every single edit of a plan, one family a file.
#include "properties/faults/ground.h"

namespace shardproof::faults {

void drop_collectives(const Ground& ground, const Site& site, Faults& faults);  ///< and duplicate
void exchange_collectives(const Ground& ground, const Site& site, Faults& faults);
void other_axes(const Ground& ground, const Site& site, Faults& faults);  ///< and other orders
void other_dims(const Ground& ground, const Site& site, Faults& faults);
void invariant_copies(const Ground& ground, const Site& site, Faults& faults);
void drop_summands(const Ground& ground, const Site& site, Faults& faults);
void drop_scales(const Ground& ground, const Site& site, Faults& faults);
void axis_scales(const Ground& ground, const Site& site, Faults& faults);
void swap_operands(const Ground& ground, const Site& site, Faults& faults);
void stale_values(const Ground& ground, const Site& site, Faults& faults);
void offsets(const Ground& ground, const Site& site, Faults& faults);
void other_labels(const Ground& ground, const Site& site, Faults& faults);
void other_totals(const Ground& ground, const Site& site, Faults& faults);

/// All of them, in the order of the body.
Faults faults_of(const Ground& ground);

}  // namespace shardproof::faults
