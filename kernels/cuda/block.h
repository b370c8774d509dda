#pragma once
// A thread block as kernels use it here: phases between barriers. In a phase each thread works
// independently. PerThread holds what a thread keeps between phases; shared memory holds what
// threads share.
#ifndef __CUDACC_RTC__
#include <cstddef>
#include <cstdint>
#include <vector>
#endif

#include "kernels/machine.h"

namespace shardproof::SHARDPROOF_MACHINE {

constexpr int warp_threads = 32;
constexpr int most_threads = 1024;

/// The index of the lowest set bit.
SHARDPROOF_HD inline int lowest_bit(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(word)) - 1;
#else
  return __builtin_ctz(word);
#endif
}

#ifdef SHARDPROOF_ON_GPU

/// One register per thread.
template <class T>
class PerThread {
 public:
  __device__ T& operator[](int) { return value_; }
  __device__ const T& operator[](int) const { return value_; }

 private:
  T value_;
};

class Block {
 public:
  __device__ int64_t index() const { return blockIdx.x; }
  __device__ int64_t blocks() const { return gridDim.x; }
  __device__ int threads() const { return blockDim.x; }

  /// A phase: body(thread) for every thread of the block, then a barrier.
  template <class Body>
  __device__ void each(Body body) {
    body(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  /// A phase without its barrier: use it only if later code reads nothing that other threads write
  /// in it.
  template <class Body>
  __device__ void each_alone(Body body) {
    body(static_cast<int>(threadIdx.x));
  }

  /// A voting phase: bit t % 32 of words[t / 32] becomes holds(t) for every thread t. Returns
  /// whether any bit is set. `words` is in shared memory; all warps are full.
  template <class Holds>
  __device__ bool vote(uint32_t* words, Holds holds) {
    const int thread = static_cast<int>(threadIdx.x);
    const bool mine = holds(thread);
    const uint32_t word = __ballot_sync(0xffffffffu, mine);
    if (thread % warp_threads == 0) words[thread / warp_threads] = word;
    return __syncthreads_or(mine) != 0;
  }

  /// The block's shared memory from byte `offset`. The launch sets its size.
  template <class T>
  __device__ T* shared(size_t offset = 0) {
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    return reinterpret_cast<T*>(shared_bytes + offset);
  }
};

#else

template <class T>
class PerThread {
 public:
  T& operator[](int thread) { return values_[thread]; }
  const T& operator[](int thread) const { return values_[thread]; }

 private:
  std::vector<T> values_ = std::vector<T>(most_threads);
};

class Block {
 public:
  Block(int64_t index, int64_t blocks, int threads, unsigned char* shared)
      : index_(index), blocks_(blocks), threads_(threads), shared_(shared) {}
  int64_t index() const { return index_; }
  int64_t blocks() const { return blocks_; }
  int threads() const { return threads_; }

  template <class Body>
  void each(Body body) {
    for (int thread = 0; thread < threads_; ++thread) body(thread);
  }
  template <class Body>
  void each_alone(Body body) {
    each(body);
  }
  template <class Holds>
  bool vote(uint32_t* words, Holds holds) {
    uint32_t any = 0;
    for (int first = 0; first < threads_; first += warp_threads) {
      uint32_t word = 0;
      for (int bit = 0; bit < warp_threads; ++bit)
        word |= static_cast<uint32_t>(holds(first + bit)) << bit;
      any |= words[first / warp_threads] = word;
    }
    return any != 0;
  }
  template <class T>
  T* shared(size_t offset = 0) {
    return reinterpret_cast<T*>(shared_ + offset);
  }

 private:
  int64_t index_, blocks_;
  int threads_;
  unsigned char* shared_;
};

#endif

}  // namespace shardproof::SHARDPROOF_MACHINE
