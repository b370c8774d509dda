#pragma once
// Maps a device's local entries to global indices: mixed-radix maps with + and * only, so that the
// same code runs on integers, on a GPU and on solver terms.
#include <cstdint>

#ifdef __CUDACC__
#define SHARDPROOF_LAYOUT_FN __host__ __device__
#else
#define SHARDPROOF_LAYOUT_FN
#endif

namespace shardproof::layout {

/// The number with these digits, most significant first: digits (i, j) with radices (m, n)
/// give i * n + j. `zero` is 0 of type Int.
template <class Int>
SHARDPROOF_LAYOUT_FN Int mixed_radix(const Int* digits, const Int* radices, int count, Int zero) {
  Int value = zero;
  for (int i = 0; i < count; ++i) value = value * radices[i] + digits[i];
  return value;
}

/// The global index of entry `local` of a dim that is split over `count` axes, most significant
/// first, with `local_size` entries per device.
template <class Int>
SHARDPROOF_LAYOUT_FN Int global_index(const Int* digits, const Int* radices, int count,
                                      Int local_size, Int local, Int zero) {
  return mixed_radix(digits, radices, count, zero) * local_size + local;
}

/// The same for a group `(K D)/t` with local indices of its factors: the axes split the first
/// factor, whose local size is factor_sizes[0].
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

/// The inverse of global_index: the digits of the device that holds entry `global`, and its local
/// index.
SHARDPROOF_LAYOUT_FN inline int64_t to_local(int64_t global, const int64_t* radices, int count,
                                             int64_t local_size, int64_t* digits) {
  to_digits(global / local_size, radices, count, digits);
  return global % local_size;
}

}  // namespace shardproof::layout

#undef SHARDPROOF_LAYOUT_FN
