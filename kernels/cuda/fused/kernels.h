#pragma once
// The ops of kernels/fused.h as CUDA kernels, compiled for GPUs and for the emulator (see
// kernels/cuda/kernels.h).
#include <stdexcept>

#include "kernels/cuda/stream.h"
#include "kernels/fused.h"

namespace shardproof::SHARDPROOF_MACHINE {

using Outputs = void* const*;
using Inputs = const void* const*;

// norm.cu
void run(const Stream& stream, const RmsNorm& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const RmsNormGrad& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const LayerNorm& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const LayerNormGrad& op, Outputs outputs, Inputs inputs);
// softmax.cu
void run(const Stream& stream, const Softmax& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const SoftmaxGrad& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const CrossEntropy& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const CrossEntropyGrad& op, Outputs outputs, Inputs inputs);
// rope.cu
void run(const Stream& stream, const Rope& op, Outputs outputs, Inputs inputs);
// optimizer.cu
void run(const Stream& stream, const AdamW& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const SumSquares& op, Outputs outputs, Inputs inputs);

// attention.cu, attention_grad.cu: keep the logits of one tile only.
void run(const Stream& stream, const Attention& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const AttentionGrad& op, Outputs outputs, Inputs inputs);

/// grouped.cu: sorts the entries in the stream's scratch.
void run(const Stream& stream, const GroupedProduct& op, Outputs outputs, Inputs inputs);
void run(const Stream& stream, const GroupedSum& op, Outputs outputs, Inputs inputs);

/// log_sum_exps.cu: converts pairs (m, sum) in f32[batches, rows, 2] (AttentionShape::stats_bytes)
/// to log-sum-exps m + log(sum) in f32[batches, group, queries]; and back, with sum = 1.
void to_logs(const Stream& stream, const AttentionShape& shape, const float* stats, float* logs);
void from_logs(const Stream& stream, const AttentionShape& shape, const float* logs, float* stats);

/// walked_rows.cpp, emulator only: a GPU uses a generated kernel for each op (generate_rows.h).
/// Throws std::logic_error on a GPU, or if fits() is false.
void run(const Stream& stream, const Rowwise& op, Outputs outputs, Inputs inputs);
/// sum_columns.cu: the last step of a row-wise op. Sums the blocks' partial sums in the scratch
/// into the outputs per column.
void sum_columns(const Stream& stream, const Rowwise& op, const RowShape& shape, Outputs outputs);

/// mask_bias.cu: bf16[batch, queries, keys], 0 where the mask allows, else -1e10. `stride`: the
/// mask's stride along the batch.
void to_bias(const Stream& stream, const AttentionShape& shape, int64_t batch, int64_t stride,
             const uint8_t* mask, uint16_t* bias);

/// Throws std::logic_error: only libraries compute such products.
inline void run(const Stream&, const BiasedProduct&, Outputs, Inputs) {
  throw std::logic_error("a product is a library's, not a kernel's");
}
inline void run(const Stream&, const RoundedProduct&, Outputs, Inputs) {
  throw std::logic_error("only CPUs have products of rounded operands");
}

inline void run(const Stream& stream, const FusedOp& op, Outputs outputs, Inputs inputs) {
  std::visit([&](const auto& each) { run(stream, each, outputs, inputs); }, op);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
