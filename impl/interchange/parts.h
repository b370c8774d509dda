#pragma once
// Which entries of a foreign tensor a rank's part of a leaf consists of, as loops over both.
#include <functional>

#include "impl/checkpoint/checkpoint.h"
#include "impl/interchange/mapping.h"

namespace shardproof::interchange {

/// One dim of a rank's part: entries first .. first + extent of `whole`, `stride` apart.
struct Factor {
  Name name;
  int64_t whole, first, extent, stride;
};

/// The dims of a leaf, groups taken apart; sizes of inner factors are taken from `dims`.
std::vector<Factor> factors_of(const checkpoint::Leaf& leaf, const Mesh& mesh, int64_t rank,
                               const DimSizes& dims);

/// A loop over entries that are `foreign` apart in the one tensor and `local` apart in the other.
struct Loop {
  int64_t extent, foreign, local;
};

/// A rank's part of one foreign tensor: loops in its order, from where they begin in both.
struct PartOfForeign {
  std::string name;              ///< "model.layers.3.q.weight"
  std::vector<int64_t> extents;  ///< of the foreign tensor
  std::vector<Loop> loops;
  int64_t foreign = 0, local = 0;
  bool here = true;  ///< false: this rank has none of it

  int64_t count() const;
  /// Calls `run(foreign, length, scatter)` for entries that are next to each other in the foreign
  /// tensor; `scatter(visit)` calls `visit(i, local)` for each of these.
  using Visit = std::function<void(int64_t, int64_t)>;
  void for_each_run(const std::function<void(int64_t, int64_t,
                                             const std::function<void(const Visit&)>&)>& run) const;
};

/// The foreign tensors that `tensor` stands for, one for each layer (and expert). Throws PlanError
/// where its pattern is not that of the leaf.
std::vector<PartOfForeign> parts_of(const ForeignTensor& tensor, const Name& leaf,
                                    const std::vector<Factor>& factors);

/// foreign * scale + plus = leaf.
double scale_of(const ForeignTensor& tensor, const std::vector<Factor>& factors);

}  // namespace shardproof::interchange
