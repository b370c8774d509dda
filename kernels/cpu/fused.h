#pragma once
// Functions of the standard library in one pass over memory, compiled for each instruction level.
// kernels/fused.h documents each op. Outputs may not overlap inputs, except AdamW's, each of which
// may be the input of the same name.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/threads.h"
#include "kernels/fused.h"

namespace shardproof::cpu {

/// Sums along a row are computed in f32, in lanes of at most 8 terms, and the sums of blocks in
/// double. Scalar inputs come after the others.
struct FusedKernels {
  void (*rms_norm)(const RmsNorm&, void* const* outputs, const void* const* inputs);
  void (*rms_norm_grad)(const RmsNormGrad&, void* const* outputs, const void* const* inputs);
  void (*layer_norm)(const LayerNorm&, void* const* outputs, const void* const* inputs);
  void (*layer_norm_grad)(const LayerNormGrad&, void* const* outputs, const void* const* inputs);
  void (*cross_entropy)(const CrossEntropy&, void* const* outputs, const void* const* inputs);
  void (*cross_entropy_grad)(const CrossEntropyGrad&, void* const* outputs,
                             const void* const* inputs);
  /// Of `count` positions from `first` on.
  void (*rope)(const Rope&, int64_t first, int64_t count, void* out, const void* const* inputs);
  void (*adamw)(const AdamW&, void* const* outputs, const void* const* inputs);
  double (*sum_squares)(const SumSquares&, const void* x);
};

/// The functions of this level, which the processor must support; null for `baseline`.
const FusedKernels* fused_kernels(Isa isa);

/// Whether run() supports the op at the level isa().
bool has_fused(const FusedOp& op);
/// Bytes of each scratch output; these follow the op's own outputs. `at_once`: attention uses at
/// most this many threads, each with its own memory; the same number for both functions.
std::vector<size_t> fused_scratch(const FusedOp& op, int at_once = threads());
/// Throws std::logic_error if has_fused() is false.
void run(const FusedOp& op, void* const* outputs, const void* const* inputs,
         int at_once = threads());

}  // namespace shardproof::cpu
