#pragma once
// A launch of attention as a graph: maps its tensors to the op's arrays.
#include <span>

#include "impl/device/graph/attention_graph.h"

namespace shardproof {

/// Attention or its gradient as a library's graph; needs one more scratch output than
/// kernels/fused.h names.
class AttentionCall {
 public:
  /// None if no library supports the op. `ordered`: as in attention_graph.
  static std::optional<AttentionCall> of(const FusedOp& op, bool ordered = true);

  const TensorGraph& graph() const { return own_.graph; }
  const AttentionShape& shape() const { return shape_; }
  bool is_gradient() const { return is_gradient_; }
  /// The workspace of cuDNN 9.19 on Hopper, if the library is not available: g_k and g_v per query
  /// head and, for an ordered gradient, the gradient of the logits in tiles.
  size_t usual_workspace() const;
  /// The size of that scratch output, if the library needs `workspace` bytes.
  size_t scratch(size_t workspace) const;
  /// Its index: after the op's own scratch.
  size_t scratch_output() const { return is_gradient_ ? 6 : 3; }

  struct Arrays {
    std::vector<void*> tensors;  ///< of the graph, for arrays
    float *stats = nullptr, *log_sum_exps = nullptr;
    std::vector<std::span<std::byte>> zeroed;  ///< before the graph runs
    void* workspace = nullptr;
    const uint8_t* mask = nullptr;
    uint16_t* bias = nullptr;  ///< if there is one: computed from the mask before the graph runs
  };
  const std::optional<AttentionGraph::Bias>& bias() const { return own_.bias; }
  Arrays arrays(std::span<void* const> outputs, std::span<const void* const> inputs) const;
  /// Whether all arrays are aligned to 16 bytes, as the graph requires.
  bool takes(std::span<void* const> outputs, std::span<const void* const> inputs) const;

 private:
  AttentionCall(AttentionGraph own, const AttentionShape& shape, bool is_gradient, bool ordered)
      : own_(std::move(own)), shape_(shape), is_gradient_(is_gradient), ordered_(ordered) {}

  AttentionGraph own_;
  AttentionShape shape_;
  bool is_gradient_, ordered_;
};

/// Bytes of each scratch output of an op, assuming a library with its usual
/// workspace.
std::vector<size_t> usual_scratch(const FusedOp& op, bool ordered = true);

}  // namespace shardproof
