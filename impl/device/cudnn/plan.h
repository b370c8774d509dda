#pragma once
// Graphs compiled by cuDNN.
#include <memory>
#include <string>
#include <vector>

#include "impl/device/graph/tensor_graph.h"

struct cudnnContext;

namespace shardproof::cudnn {

/// The target of a graph: the GPU of a handle, or one that need not exist, by its properties in
/// cuDNN's JSON.
struct Target {
  cudnnContext* handle = nullptr;
  std::string properties = {};
};

class Plan {
 public:
  /// Uses the first engine of cuDNN's heuristics that it can build. Throws DeviceError with cuDNN's
  /// reasons if none works.
  Plan(const TensorGraph& graph, const Target& target);
  ~Plan();

  size_t workspace() const { return workspace_; }  ///< bytes, aligned to 16
  /// Enqueues the work on the handle's stream; memory[t] is the address of tensor t, for arrays.
  void execute(cudnnContext* handle, const std::vector<void*>& memory, void* workspace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  size_t workspace_ = 0;
};

}  // namespace shardproof::cudnn
