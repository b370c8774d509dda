#pragma once
// The ops of kernels/ops.h as CUDA kernels. Pointers are device pointers; launches are
// asynchronous. Compiled twice: by nvcc as shardproof::cuda, and by the host compiler as
// shardproof::emulated, the emulator (machine.h).
#include "kernels/cuda/stream.h"
#include "kernels/ops.h"

namespace shardproof::SHARDPROOF_MACHINE {

// copy.cu
void run(const Stream& stream, const Copy& op, void* out, const void* const* inputs);
void run(const Stream& stream, const Zero& op, void* out, const void* const* inputs);
void run(const Stream& stream, const Roll& op, void* out, const void* const* inputs);
void run(const Stream& stream, const Reverse& op, void* out, const void* const* inputs);
// create.cu
void run(const Stream& stream, const Iota& op, void* out, const void* const* inputs);
void run(const Stream& stream, const Random& op, void* out, const void* const* inputs);
// indexing.cu
void run(const Stream& stream, const Index& op, void* out, const void* const* inputs);
/// Adds in loop order: the same bits in every run.
void run(const Stream& stream, const IndexAdd& op, void* out, const void* const* inputs);
// order.cu
void run(const Stream& stream, const Ordered& op, void* out, const void* const* inputs);
/// pointwise.cu: one kernel that interprets any fused pointwise op. generate.h writes a specialized
/// one.
void run(const Stream& stream, const Pointwise& op, void* out, const void* const* inputs);
/// reduce.cu. Sums in double, in an order that depends only on the op and on whether the stream has
/// scratch memory.
void run(const Stream& stream, const Reduce& op, void* out, const void* const* inputs);
/// reduce_ranks.cu. out[i] = sources[0][i] + sources[1][i] + ..: see kernels/cpu/reduce_ranks.h.
void reduce_ranks(const Stream& stream, Element element, Reduction reduction,
                  const void* const* sources, int n, void* out, size_t count);

}  // namespace shardproof::SHARDPROOF_MACHINE
