#pragma once
// Views by index: permuting, broadcasting, opening and joining positions only changes strides.
#include <optional>

#include "impl/plan/memory.h"
#include "kernels/nest.h"
#include "spec/ir/indices.h"

namespace shardproof::compile {

using plan::Access;
using plan::Affine;
using plan::BufferId;
using plan::Exchange;
using plan::FusedKernel;
using plan::has;
using plan::Kernel;
using plan::no_buffer;
using plan::Piece;
using plan::Ref;
using plan::Step;
using plan::StepContext;
using plan::Whole;

using ir::IndexId;
using Ids = std::vector<IndexId>;
using Positions = std::vector<ir::Position>;

/// 0, 1, ..: the positions of a type, or of a chain's result, as indices.
Ids first_ids(size_t count);
/// All indices of the positions, in order.
Ids flat(const Positions& positions);
/// Its position; the number of ids if it is missing.
size_t position_of(const Ids& ids, IndexId id);
Ids concatenated(Ids a, const Ids& b);

/// A view of a buffer whose dims are these indices.
struct View {
  Ref ref;
  Ids ids;

  std::vector<int64_t> extents(const Ids& some) const;
};

/// Its first entry: the view without dims.
Ref start_of(const Ref& ref);

/// Whether both are the same entries, also in loops.
bool same_view(const Ref& a, const Ref& b);

/// The strides of a view along `ids`: 0 for an index that it lacks, the sum for one that it has
/// twice (a diagonal). Throws PlanError if an extent differs.
std::vector<int64_t> strides_along(const Ids& ids, const std::vector<int64_t>& extents,
                                   const View& view);

/// The same entries along `ids`; repeats them along new indices. `extents`: of `ids`.
Ref along(const View& view, const Ids& ids, const std::vector<int64_t>& extents);

/// The extent of an index in the first view that has it.
int64_t extent_of(IndexId id, const std::vector<const View*>& views);

/// Several dims as one loop: extent, and stride if there is a single one.
struct JoinedDims {
  int64_t extent = 1, stride = 1;
};
std::optional<JoinedDims> joined(const std::vector<int64_t>& extents,
                                 const std::vector<int64_t>& strides);

/// The view with one dim per index of the positions of `ref`; `extents`: by index. Throws PlanError
/// if the extent of a position differs from that of its indices.
View opened(const Ref& ref, const Positions& positions, const std::vector<int64_t>& extents);
/// The view with one dim for each of `positions` of which it has indices, numbered as there;
/// repeats entries along indices that it lacks. None if a position has no single stride.
std::optional<View> closed(const View& view, const Positions& positions,
                           const std::vector<int64_t>& extents);

/// The loops over `to`: operand 0 is `to`, then the others; all have the same extents.
Nest nest_of(const std::vector<const Ref*>& refs);

}  // namespace shardproof::compile
