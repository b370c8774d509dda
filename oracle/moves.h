#pragma once
// Entries of one tensor in the places of another. Most ops are one of these three with positions of
// their own, and the backward of each is another of them: written once.
#include "oracle/run.h"

namespace shardproof::oracle {

/// result[i] = x[from[i]]. Back: each entry's gradient is added where it came from. Also of keys.
Var gather(Step& step, const Var& x, Positions from, Extents shape);

/// result = 0, then result[to[i]] += x[i]. Back: gather.
Var scatter_add(Step& step, const Var& x, Positions to, Extents shape);

struct Part {
  Var x;
  Positions to;
};
/// result[to[i]] = x[i] for one part after the other, so that a later one covers an earlier; all
/// parts together cover the result. Back: what was covered gets nothing. Also of keys.
Var place(Step& step, std::vector<Part> parts, Extents shape);

/// The strides in a tensor of dims `from` by which an index over dims `to` walks it: dims are
/// matched by name, and along a dim that `from` lacks it stands still.
Extents walk(Step& step, const std::vector<Split>& to, const std::vector<Split>& from);

/// The position of a dim; throws std::domain_error where it is not.
size_t position(const std::vector<Split>& dims, const Dim& dim);
bool contains(const std::vector<Split>& dims, const Dim& dim);

}  // namespace shardproof::oracle
