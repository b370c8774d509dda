#pragma once
// Checks at run time what a plan's model assumes of its parameters.
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"

namespace shardproof::plan {

/// `0 <= y < |V|` for one input, at the sizes of a run.
class AssumedInput {
 public:
  AssumedInput(const ir::Function& plan, const ir::Assumption& assumption, const Sources* sources,
               const Placement& placement);
  size_t input() const { return input_; }
  /// The first entry of this rank's part that violates it, with its global index and the line that
  /// assumes it; empty if there is none.
  std::string broken(const LocalTensor& tensor) const;

 private:
  size_t input_;
  std::string place_;  ///< "model.shard:12", or the plan
  Name name_;
  std::string text_;
  std::vector<std::pair<std::string, double>> bounds_;
  std::vector<int64_t> firsts_;  ///< by dim: global index of local entry 0
};

std::vector<AssumedInput> assumed_inputs(const ir::Function& plan, const Sources* sources,
                                         const Placement& placement);

}  // namespace shardproof::plan
