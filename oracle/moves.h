#pragma once
// Entries of one tensor in the places of another. Most ops are one of these three with positions of
// their own, and the backward of each is another of them: written once. Positions that
// are not in the tensor, or not one for each entry, are refused.
#include "oracle/run.h"

namespace shardproof::oracle {

/// result[i] = x[from[i]]. Back: each entry's gradient is added where it came from. Also of keys.
Var gather(Site& site, const Var& x, Positions from, Extents shape);

/// result = 0, then result[to[i]] += x[i]. Back: gather.
Var scatter_add(Site& site, const Var& x, Positions to, Extents shape);

struct Part {
  Var x;
  Positions to;
};
/// result[to[i]] = x[i] for one part after the other, so that a later one covers an earlier; all
/// parts together cover the result. Back: what was covered gets nothing. Also of keys.
Var place(Site& site, std::vector<Part> parts, Extents shape);

}  // namespace shardproof::oracle
