#pragma once
// Attention as a graph for a library, where the library can have it.
#include <optional>

#include "impl/device/graph/tensor_graph.h"
#include "kernels/fused.h"

namespace shardproof {

/// Tensors of the graph by what they are for the op.
struct AttentionGraph {
  TensorGraph graph;
  std::vector<size_t> inputs;   ///< Attention: q, k, v. AttentionGrad: g, q, k, v, o
  std::vector<size_t> outputs;  ///< o; or g_q, g_k, g_v
  /// f32[batches, group, queries]: log(sum(exp(logit))) of each row, made by Attention, read by its
  /// gradient.
  size_t log_masses = 0;
  struct Scratch {
    size_t tensor = 0, bytes = 0;
    bool zeroed = false;  ///< before the graph runs
  };
  std::vector<Scratch> scratch = {};
  /// Of a mask that is data: bf16[batch, 1, queries, keys], 0 where it allows and else the number
  /// that stands for -infinity in the library's text; added to the logits.
  struct Bias {
    size_t tensor = 0;
    int64_t batch = 1, stride = 0;  ///< of the mask
    size_t bytes(const AttentionShape& shape) const {
      return static_cast<size_t>(batch * shape.queries * shape.keys) * size_of(Element::bf16);
    }
  };
  std::optional<Bias> bias = {};
};

/// None where the mask is not known to be causal or of segments, the same for all heads, where
/// there is one query, where operands are not bf16 with a stride for each of batch, head and
/// position, where the scale is an input, or where the gradient does not come after its forward.
std::optional<AttentionGraph> attention_graph(const Attention& op);
/// `ordered`: g_q is one product, so that its bits are the same in every run; else a library adds
/// it up where it lies, in any order.
std::optional<AttentionGraph> attention_graph(const AttentionGrad& op, bool ordered = true);

/// Of the logarithms of the masses.
size_t log_mass_bytes(const AttentionShape& shape);

}  // namespace shardproof
