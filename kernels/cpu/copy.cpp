#include "kernels/cpu/copy.h"

#include <cstring>

namespace shardproof::cpu {
namespace {

template <class T>
void copy_as(const Nest& nest, void* to, const void* from) {
  T* out = static_cast<T*>(to);
  const T* in = static_cast<const T*>(from);
  const int64_t n = nest.inner(), s0 = nest.inner_stride(0), s1 = nest.inner_stride(1);
  for_each_row(nest, [&](const int64_t* at) {
    T* row = out + at[0];
    const T* source = in + at[1];
    if (s0 == 1 && s1 == 1)
      std::memcpy(row, source, static_cast<size_t>(n) * sizeof(T));
    else
      for (int64_t i = 0; i < n; ++i) row[i * s0] = source[i * s1];
  });
}

}  // namespace

void copy(const Nest& nest, size_t bytes, void* to, const void* from) {
  switch (bytes) {
    case 1:
      return copy_as<uint8_t>(nest, to, from);
    case 2:
      return copy_as<uint16_t>(nest, to, from);
    case 4:
      return copy_as<uint32_t>(nest, to, from);
    default:
      return copy_as<uint64_t>(nest, to, from);
  }
}

void zero(void* to, int64_t count, size_t bytes) {
  std::memset(to, 0, static_cast<size_t>(count) * bytes);
}

}  // namespace shardproof::cpu
