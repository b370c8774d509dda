#include "kernels/cpu/reduce_ranks.h"

#include <algorithm>
#include <type_traits>

#include "kernels/bf16.h"

namespace shardproof {
namespace {

/// This many results stay in the L1 cache while all sources are added.
constexpr size_t block_entries = 2048;

struct JoinSum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};

struct JoinMax {
  template <class T>
  T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};

struct JoinMin {
  template <class T>
  T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};

template <class T, class Join>
void join_rows(const void* const* sources, int n, T* __restrict out, size_t count, Join join) {
  for (size_t begin = 0; begin < count; begin += block_entries) {
    const size_t length = std::min(block_entries, count - begin);
    const T* __restrict first = static_cast<const T*>(sources[0]) + begin;
    if (n == 1) std::copy_n(first, length, out + begin);
    for (int source = 1; source < n; ++source) {
      const T* __restrict next = static_cast<const T*>(sources[source]) + begin;
      if (source == 1)
        for (size_t i = 0; i < length; ++i) out[begin + i] = join(first[i], next[i]);
      else
        for (size_t i = 0; i < length; ++i) out[begin + i] = join(out[begin + i], next[i]);
    }
  }
}

template <class Join>
void join_bf16(const void* const* sources, int n, uint16_t* __restrict out, size_t count,
               Join join) {
  float sums[block_entries];
  for (size_t begin = 0; begin < count; begin += block_entries) {
    const size_t length = std::min(block_entries, count - begin);
    for (int source = 0; source < n; ++source) {
      const uint16_t* __restrict next = static_cast<const uint16_t*>(sources[source]) + begin;
      if (source == 0)
        for (size_t i = 0; i < length; ++i) sums[i] = bf16_to_f32(next[i]);
      else
        for (size_t i = 0; i < length; ++i) sums[i] = join(sums[i], bf16_to_f32(next[i]));
    }
    for (size_t i = 0; i < length; ++i) out[begin + i] = f32_to_bf16(sums[i]);
  }
}

template <class Join>
void join_elements(Element element, const void* const* sources, int n, void* out, size_t count,
                   Join join) {
  switch (element) {
    case Element::f64:
      return join_rows(sources, n, static_cast<double*>(out), count, join);
    case Element::f32:
      return join_rows(sources, n, static_cast<float*>(out), count, join);
    case Element::bf16:
      return join_bf16(sources, n, static_cast<uint16_t*>(out), count, join);
    case Element::i32:
      return join_rows(sources, n, static_cast<int32_t*>(out), count, join);
    case Element::u32:
      return join_rows(sources, n, static_cast<uint32_t*>(out), count, join);
    case Element::u8:
      return join_rows(sources, n, static_cast<uint8_t*>(out), count, join);
    case Element::u64:
      return join_rows(sources, n, static_cast<uint64_t*>(out), count, join);
  }
}

}  // namespace

void reduce_ranks(Element element, Reduction reduction, const void* const* sources, int n,
                  void* out, size_t count) {
  switch (reduction) {
    case Reduction::sum:
      return join_elements(element, sources, n, out, count, JoinSum{});
    case Reduction::max:
      return join_elements(element, sources, n, out, count, JoinMax{});
    case Reduction::min:
      return join_elements(element, sources, n, out, count, JoinMin{});
  }
}

}  // namespace shardproof
