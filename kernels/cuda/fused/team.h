#pragma once
// Teams of threads that reduce together: lanes of a warp, or a whole block. The order of a
// reduction is the same on a GPU and in the emulator. Every thread of the team gets the result.
#include "kernels/cuda/block.h"
#include "kernels/cuda/fused/entries.h"

namespace shardproof::SHARDPROOF_MACHINE {

struct Add {
  template <class T, int n>
  SHARDPROOF_DEVICE Several<T, n> operator()(Several<T, n> a, const Several<T, n>& b) const {
    for (int i = 0; i < n; ++i) a.at[i] += b.at[i];
    return a;
  }
};

struct Larger {
  template <class T, int n>
  SHARDPROOF_DEVICE Several<T, n> operator()(Several<T, n> a, const Several<T, n>& b) const {
    for (int i = 0; i < n; ++i)
      if (b.at[i] > a.at[i]) a.at[i] = b.at[i];
    return a;
  }
};

/// Reduces x over groups of `lanes` adjacent lanes, a power of 2 up to a warp: lanes whose numbers
/// differ only in the lower bits.
template <int lanes, class Join, class T, int n>
SHARDPROOF_DEVICE void join_lanes([[maybe_unused]] Block& block, PerThread<Several<T, n>>& x,
                                  Join join) {
  for (int by = lanes / 2; by > 0; by /= 2) {
#ifdef SHARDPROOF_ON_GPU
    Several<T, n> other;
    for (int i = 0; i < n; ++i) other.at[i] = __shfl_xor_sync(0xffffffffu, x[0].at[i], by);
    x[0] = join(x[0], other);
#else
    std::vector<Several<T, n>> before;
    for (int thread = 0; thread < block.threads(); ++thread) before.push_back(x[thread]);
    for (int thread = 0; thread < block.threads(); ++thread)
      x[thread] =
          join(before[static_cast<size_t>(thread)], before[static_cast<size_t>(thread ^ by)]);
#endif
  }
}

/// Reduces over teams of `team` adjacent threads: a warp, or the block. A block needs `scratch` in
/// shared memory: one Several<T, n> per warp.
template <int team, class Join, class T, int n>
SHARDPROOF_DEVICE void join_team(Block& block, PerThread<Several<T, n>>& x, Join join,
                                 [[maybe_unused]] Several<T, n>* scratch) {
  join_lanes < team<warp_threads ? team : warp_threads>(block, x, join);
  if constexpr (team > warp_threads) {
    block.each([&](int thread) {
      if (thread % warp_threads == 0) scratch[thread / warp_threads] = x[thread];
    });
    block.each([&](int thread) {
      Several<T, n> all = scratch[0];
      for (int warp = 1; warp < team / warp_threads; ++warp) all = join(all, scratch[warp]);
      x[thread] = all;
    });
  }
}

}  // namespace shardproof::SHARDPROOF_MACHINE
