#pragma once
// Moves contiguous entries as words of up to 16 bytes.
#include <cstdint>
#include <initializer_list>

#include "kernels/machine.h"
#include "kernels/nest.h"

namespace shardproof::SHARDPROOF_MACHINE {

struct alignas(16) Bytes16 {
  uint32_t words[4];
};

/// Conditions for wider entries: these pointers and strides (in entries) must be multiples of the
/// width.
struct Widening {
  size_t operands =
      2;  ///< how many of the nest are moved, from the first; the others stand still inside
  size_t bytes = 4;  ///< of an entry
  std::initializer_list<const void*> pointers;
  int64_t stride = 0;  ///< of an additional move, in entries
};

/// The number of adjacent entries in the innermost loop of a coalesced nest that form one word; 1
/// if none do.
inline int64_t joined(const Nest& nest, const Widening& by) {
  if (nest.extents.empty() || nest.count() == 0) return 1;
  for (size_t k = 0; k < nest.strides.size(); ++k)
    if (nest.inner_stride(k) != (k < by.operands ? 1 : 0)) return 1;
  uint64_t all = static_cast<uint64_t>(nest.inner()) | static_cast<uint64_t>(by.stride);
  for (size_t k = 0; k < by.operands; ++k)
    for (size_t d = 0; d + 1 < nest.extents.size(); ++d)
      all |= static_cast<uint64_t>(nest.strides[k][d]);
  all *= by.bytes;  // its lowest set bit is the widest valid power of 2
  for (const void* pointer : by.pointers) all |= reinterpret_cast<uintptr_t>(pointer);
  const uint64_t width = all & (~all + 1);
  return width < by.bytes ? 1 : static_cast<int64_t>((width < 16 ? width : 16) / by.bytes);
}

/// The coalesced nest with entries `factor` times as wide for the first `operands` operands.
inline Nest widened(Nest nest, size_t operands, int64_t factor) {
  if (factor == 1) return nest;
  nest.extents.back() /= factor;
  for (size_t k = 0; k < operands; ++k)
    for (size_t d = 0; d + 1 < nest.extents.size(); ++d) nest.strides[k][d] /= factor;
  return nest;
}

/// Calls run(T{}) with the unsigned type of `bytes` bytes.
template <class Run>
void with_word(size_t bytes, Run run) {
  switch (bytes) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    case 8:
      return run(uint64_t{});
    default:
      return run(Bytes16{});
  }
}

}  // namespace shardproof::SHARDPROOF_MACHINE
