#pragma once
// Graphs compiled by cuDNN.
#include <memory>
#include <string>
#include <vector>

#include "impl/device/graph/tensor_graph.h"

struct cudnnContext;

namespace shardproof::cudnn {

/// What a graph is compiled for: the GPU of a handle, or one that need not be there, by its
/// properties as cuDNN writes them in JSON.
struct Target {
  cudnnContext* handle = nullptr;
  std::string properties = {};
};

class Plan {
 public:
  /// Takes the first engine that cuDNN's heuristics name and that it can make. Throws DeviceError
  /// with cuDNN's reasons where there is none.
  Plan(const TensorGraph& graph, const Target& target);
  ~Plan();

  size_t workspace() const { return workspace_; }  ///< bytes, at multiples of 16
  /// Gives the work to the handle's stream; memory[t] is where tensor t is, for arrays.
  void execute(cudnnContext* handle, const std::vector<void*>& memory, void* workspace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  size_t workspace_ = 0;
};

}  // namespace shardproof::cudnn
