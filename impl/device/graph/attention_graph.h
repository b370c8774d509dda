#pragma once
// Attention as a library graph, if the library supports it.
#include <optional>

#include "impl/device/graph/tensor_graph.h"
#include "kernels/fused.h"

namespace shardproof {

/// The graph's tensors by their role in the op.
struct AttentionGraph {
  TensorGraph graph;
  std::vector<size_t> inputs;   ///< Attention: q, k, v. AttentionGrad: g, q, k, v, o
  std::vector<size_t> outputs;  ///< o; or g_q, g_k, g_v
  /// f32[batches, group, queries]: log(sum(exp(logit))) per row. Attention writes it, its gradient
  /// reads it.
  size_t log_sum_exps = 0;
  struct Scratch {
    size_t tensor = 0, bytes = 0;
    bool zeroed = false;  ///< before the graph runs
  };
  std::vector<Scratch> scratch = {};
  /// For a mask that is data: bf16[batch, 1, queries, keys] that is added to the logits; 0 where it
  /// allows, else the library's stand-in for -infinity.
  struct Bias {
    size_t tensor = 0;
    int64_t batch = 1, stride = 0;  ///< strides of the mask
    size_t bytes(const AttentionShape& shape) const {
      return static_cast<size_t>(batch * shape.queries * shape.keys) * size_of(Element::bf16);
    }
  };
  std::optional<Bias> bias = {};
};

/// None if the mask is not known to be causal or segmented, and the same for all heads; if there is
/// one query; if operands are not bf16 with one stride each for batch, head and position; if the
/// scale is an input; or if the gradient lacks its forward's outputs.
std::optional<AttentionGraph> attention_graph(const Attention& op);
/// `ordered`: g_q is one product, with the same bits in every run; else the library accumulates it
/// in memory in any order.
std::optional<AttentionGraph> attention_graph(const AttentionGrad& op, bool ordered = true);

/// Bytes of the log-sum-exps.
size_t log_sum_exp_bytes(const AttentionShape& shape);

}  // namespace shardproof
