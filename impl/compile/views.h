#pragma once
// Views by indices: permutations, broadcasts, opened and joined positions are strides alone.
#include <optional>

#include "impl/plan/memory.h"
#include "kernels/nest.h"
#include "spec/ir/indices.h"

namespace shardproof::compile {

using plan::Access;
using plan::Affine;
using plan::BufferId;
using plan::Exchange;
using plan::Frame;
using plan::FusedKernel;
using plan::has;
using plan::Kernel;
using plan::no_buffer;
using plan::Piece;
using plan::Ref;
using plan::Step;
using plan::Whole;

using ir::IndexId;
using Ids = std::vector<IndexId>;
using Positions = std::vector<ir::Position>;

/// 0, 1, ..: the positions of a type, or of a chain's result, as indices.
Ids first_ids(size_t count);
/// All indices of the positions, in order.
Ids flat(const Positions& positions);
/// Its position, or the number of ids.
size_t position_of(const Ids& ids, IndexId id);
Ids concatenated(Ids a, const Ids& b);

/// A view of a buffer whose dims are these indices.
struct View {
  Ref ref;
  Ids ids;

  std::vector<int64_t> extents(const Ids& some) const;
};

/// The same entries, wherever loops are.
bool same_view(const Ref& a, const Ref& b);

/// The strides of a view along `ids`: 0 for one it has not, the sum for one it has twice (a
/// diagonal). Throws PlanError where an extent is another one.
std::vector<int64_t> strides_along(const Ids& ids, const std::vector<int64_t>& extents,
                                   const View& view);

/// The same entries along `ids`; a new one repeats them. `extents`: of `ids`.
Ref along(const View& view, const Ids& ids, const std::vector<int64_t>& extents);

/// The extent of an index: that of the first view that has it.
int64_t extent_of(IndexId id, const std::vector<const View*>& views);

/// Some dims walked as one: extent and stride, where there is one stride for them.
struct JoinedDims {
  int64_t extent = 1, stride = 1;
};
std::optional<JoinedDims> joined(const std::vector<int64_t>& extents,
                                 const std::vector<int64_t>& strides);

/// The view with a dim for each index of the positions of `ref`; `extents`: of each index. Throws
/// PlanError where a position has another extent than its indices.
View opened(const Ref& ref, const Positions& positions, const std::vector<int64_t>& extents);
/// The view with a dim for each of `positions` of which it has indices, numbered as they are;
/// an index that it has not repeats entries. None where a position has more than one stride.
std::optional<View> closed(const View& view, const Positions& positions,
                           const std::vector<int64_t>& extents);

/// The loops over `to`: operand 0 is `to`, then the others, all of the same extents.
Nest nest_of(const std::vector<const Ref*>& refs);

}  // namespace shardproof::compile
