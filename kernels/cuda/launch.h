#pragma once
// Launches a kernel: a struct with its arguments, whose operator() takes a Block.
#include "kernels/cuda/block.h"
#include "kernels/cuda/stream.h"

#ifdef SHARDPROOF_ON_GPU
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#endif

namespace shardproof::SHARDPROOF_MACHINE {

#ifdef SHARDPROOF_ON_GPU

template <class Kernel, int threads>
__global__ void __launch_bounds__(threads) run_kernel(const __grid_constant__ Kernel kernel) {
  Block block;
  kernel(block);
}

/// Throws std::runtime_error with CUDA's message if the launch fails. Does nothing for 0
/// blocks.
template <int threads, class Kernel>
void launch(const Stream& stream, int64_t blocks, const Kernel& kernel, size_t shared_bytes = 0) {
  if (blocks == 0) return;
  if (shared_bytes > 48 << 10)
    cudaFuncSetAttribute(run_kernel<Kernel, threads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(shared_bytes));
  run_kernel<Kernel, threads>
      <<<static_cast<unsigned>(blocks), threads, shared_bytes, stream.handle>>>(kernel);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string("a kernel cannot be launched: ") +
                             cudaGetErrorString(error));
}

#else

template <int threads, class Kernel>
void launch(const Stream&, int64_t blocks, const Kernel& kernel, size_t shared_bytes = 0) {
  struct alignas(128) Line {
    unsigned char bytes[128];
  };
  std::vector<Line> shared(shared_bytes / sizeof(Line) + 1);
  for (int64_t index = 0; index < blocks; ++index) {
    Block block(index, blocks, threads, shared[0].bytes);
    kernel(block);
  }
}

#endif

constexpr int usual_threads = 256;

/// The number of blocks of `threads` for `count` items that each_of divides.
inline int64_t blocks_for(int64_t count, int threads = usual_threads) {
  const int64_t blocks = (count + threads - 1) / threads, most = 1 << 16;
  return blocks < most ? blocks : most;
}

/// Calls body(i) for this block's part of 0 .. count - 1; adjacent items go to adjacent threads.
template <class Body>
SHARDPROOF_DEVICE void each_of(Block& block, int64_t count, Body body) {
  block.each_alone([&](int thread) {
    const int64_t step = block.blocks() * block.threads();
    for (int64_t i = block.index() * block.threads() + thread; i < count; i += step) body(i);
  });
}

/// Launches a kernel whose blocks divide `count` items by each_of.
template <class Kernel>
void launch_each(const Stream& stream, int64_t count, const Kernel& kernel) {
  launch<usual_threads>(stream, blocks_for(count), kernel);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
