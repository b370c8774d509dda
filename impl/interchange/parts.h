#pragma once
// The entries of a foreign tensor that make up a rank's part of a leaf, as loops over both.
#include <functional>

#include "impl/checkpoint/checkpoint.h"
#include "impl/interchange/mapping.h"

namespace shardproof::interchange {

/// One dim of a rank's part: entries first .. first + extent of `whole`, with this stride.
struct Factor {
  Name name;
  int64_t whole, first, extent, stride;
};

/// The dims of a leaf with groups opened; sizes of inner factors come from `dims`. A padded dim is
/// the model's, without the entries that are padding.
std::vector<Factor> factors_of(const checkpoint::Leaf& leaf, const Mesh& mesh, int64_t rank,
                               const DimSizes& dims, const Pads& pads);
/// The number of their entries that the rank holds.
int64_t count_of(const std::vector<Factor>& factors);

/// A loop with stride `foreign` in the one tensor and `local` in the other.
struct Loop {
  int64_t extent, foreign, local;
};

/// A rank's part of one foreign tensor: loops in its order, and the start offsets in both.
struct PartOfForeign {
  std::string name;              ///< "model.layers.3.q.weight"
  std::vector<int64_t> extents;  ///< of the foreign tensor
  std::vector<Loop> loops;
  int64_t foreign = 0, local = 0;
  bool here = true;  ///< false: this rank holds none of it

  int64_t count() const;
  /// Calls `run(foreign, length, scatter)` for each contiguous run of the foreign tensor;
  /// `scatter(visit)` calls `visit(i, local)` for each entry of the run.
  using Visit = std::function<void(int64_t, int64_t)>;
  void for_each_run(const std::function<void(int64_t, int64_t,
                                             const std::function<void(const Visit&)>&)>& run) const;
};

/// The foreign tensors that `tensor` describes, one per layer (and expert). Throws PlanError if its
/// pattern does not fit the leaf.
std::vector<PartOfForeign> parts_of(const ForeignTensor& tensor, const Name& leaf,
                                    const std::vector<Factor>& factors, const DimSizes& dims);

/// The scale in foreign * scale + plus = leaf.
double scale_of(const ForeignTensor& tensor, const std::vector<Factor>& factors);

}  // namespace shardproof::interchange
