#pragma once
// Views by the names of dims: permutations, broadcasts and joined dims are strides alone.
#include <optional>

#include "impl/plan/memory.h"
#include "kernels/nest.h"
#include "spec/types/type.h"

namespace shardproof::compile {

using plan::Access;
using plan::BufferId;
using plan::Frame;
using plan::FusedKernel;
using plan::has;
using plan::Kernel;
using plan::no_buffer;
using plan::Piece;
using plan::Ref;
using plan::Step;

using Labels = std::vector<Dim>;

Labels labels_of(const Shape& shape);
bool has(const Labels& labels, const Dim& label);
/// Its position, or the number of labels.
size_t position_of(const Labels& labels, const Dim& label);
/// The label of `some` that is not in `others`, or `otherwise`.
Dim extra_label(const Labels& some, const Labels& others, const Dim& otherwise);

/// The strides of a view, whose dims have `own` labels, along `labels`: 0 for one it has not, the
/// sum for one it has twice (a diagonal). Throws PlanError where an extent is another one.
std::vector<int64_t> strides_along(const Labels& labels, const std::vector<int64_t>& extents,
                                   const Labels& own, const Ref& ref);

/// The same entries with the dims `to`; a new dim repeats them. `extents`: of `to`.
Ref relabelled(const Ref& ref, const Labels& from, const Labels& to,
               const std::vector<int64_t>& extents);

/// The extent of a label: that of the first operand that has it.
int64_t extent_of(const Dim& label, const std::vector<Labels>& labels,
                  const std::vector<Ref>& refs);

/// Some dims walked as one: extent and stride, where there is one stride for them.
struct JoinedDims {
  int64_t extent = 1, stride = 1;
};
std::optional<JoinedDims> joined(const std::vector<int64_t>& extents,
                                 const std::vector<int64_t>& strides);

/// The loops over `to`: operand 0 is `to`, then the others, all of the same extents.
Nest nest_of(const std::vector<const Ref*>& refs);

}  // namespace shardproof::compile
