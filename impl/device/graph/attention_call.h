#pragma once
// A launch of attention as a graph: where its tensors are among an op's arrays.
#include <span>

#include "impl/device/graph/attention_graph.h"

namespace shardproof {

/// Attention or its gradient, which a library's graph computes with one more scratch output after
/// those that kernels/fused.h names.
class AttentionCall {
 public:
  /// None where a library does not have the op. `ordered`: as attention_graph has it.
  static std::optional<AttentionCall> of(const FusedOp& op, bool ordered = true);

  const TensorGraph& graph() const { return own_.graph; }
  const AttentionShape& shape() const { return shape_; }
  bool is_gradient() const { return is_gradient_; }
  /// The workspace that cuDNN 9.19 wants on Hopper, where there is no library to ask: g_k and g_v
  /// of each query head, and for an ordered gradient that of the logits, in tiles.
  size_t usual_workspace() const;
  /// Of the scratch output, when the library wants `workspace` bytes.
  size_t scratch(size_t workspace) const;
  /// The output after the op's own scratch.
  size_t scratch_output() const { return is_gradient_ ? 6 : 3; }

  struct Arrays {
    std::vector<void*> tensors;  ///< of the graph, where they are arrays
    float *masses = nullptr, *log_masses = nullptr;
    std::vector<std::span<std::byte>> zeroed;  ///< before the graph runs
    void* workspace = nullptr;
    const uint8_t* mask = nullptr;
    uint16_t* bias = nullptr;  ///< if there is one: made of the mask before the graph runs
  };
  const std::optional<AttentionGraph::Bias>& bias() const { return own_.bias; }
  Arrays arrays(std::span<void* const> outputs, std::span<const void* const> inputs) const;
  /// Whether every array of the op begins at a multiple of 16 bytes, as the graph says.
  bool takes(std::span<void* const> outputs, std::span<const void* const> inputs) const;

 private:
  AttentionCall(AttentionGraph own, const AttentionShape& shape, bool is_gradient, bool ordered)
      : own_(std::move(own)), shape_(shape), is_gradient_(is_gradient), ordered_(ordered) {}

  AttentionGraph own_;
  AttentionShape shape_;
  bool is_gradient_, ordered_;
};

/// Bytes of each scratch output of an op, where a library has the attention and wants what it
/// usually does.
std::vector<size_t> usual_scratch(const FusedOp& op, bool ordered = true);

}  // namespace shardproof
