#pragma once
// Where an entry of a device's local array lies in the whole tensor: mixed-radix maps with + and *
// only, so that the same lines run on integers, on a GPU and on terms of a solver.
#include <cstdint>

#ifdef __CUDACC__
#define SHARDPROOF_LAYOUT_FN __host__ __device__
#else
#define SHARDPROOF_LAYOUT_FN
#endif

namespace shardproof::layout {

/// The number with the given digits, the first most significant: digits (i, j) of radices (m, n)
/// give i * n + j. `zero` is the Int 0.
template <class Int>
SHARDPROOF_LAYOUT_FN Int mixed_radix(const Int* digits, const Int* radices, int count, Int zero) {
  Int value = zero;
  for (int i = 0; i < count; ++i) value = value * radices[i] + digits[i];
  return value;
}

/// The global index of entry `local` of a dim that is split over `count` axes, the first most
/// significant, with `local_size` entries on each device.
template <class Int>
SHARDPROOF_LAYOUT_FN Int global_index(const Int* digits, const Int* radices, int count,
                                      Int local_size, Int local, Int zero) {
  return mixed_radix(digits, radices, count, zero) * local_size + local;
}

/// The same for a group `(K D)/t` with the factors' local indices: the axes split the first factor,
/// whose local size is factor_sizes[0].
template <class Int>
SHARDPROOF_LAYOUT_FN Int group_index(const Int* digits, const Int* radices, int count,
                                     const Int* factor_sizes, const Int* factor_indices,
                                     int factors, Int zero) {
  Int value = mixed_radix(digits, radices, count, zero);
  for (int i = 0; i < factors; ++i) value = value * factor_sizes[i] + factor_indices[i];
  return value;
}

/// The inverse of mixed_radix for 0 <= value < product of the radices.
SHARDPROOF_LAYOUT_FN inline void to_digits(int64_t value, const int64_t* radices, int count,
                                           int64_t* digits) {
  for (int i = count; i-- > 0;) {
    digits[i] = value % radices[i];
    value /= radices[i];
  }
}

/// The inverse of global_index: the digits of the device that has entry `global`, and where it has
/// it.
SHARDPROOF_LAYOUT_FN inline int64_t to_local(int64_t global, const int64_t* radices, int count,
                                             int64_t local_size, int64_t* digits) {
  to_digits(global / local_size, radices, count, digits);
  return global % local_size;
}

}  // namespace shardproof::layout

#undef SHARDPROOF_LAYOUT_FN
