#include <stdexcept>
#include <string>

#include "kernels/cuda/entry.h"
#include "kernels/cuda/join.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int most_sources = 256;

/// The stored type and the type of the sum: f32 for bf16.
struct StoredBf16 {
  uint16_t bits;
};
SHARDPROOF_HD inline float joined_as(StoredBf16 x) { return bf16_to_f32(x.bits); }
template <class T>
SHARDPROOF_HD inline T joined_as(T x) {
  return x;
}
template <class T, class Joined>
SHARDPROOF_HD inline T stored_as(Joined value) {
  if constexpr (std::is_same_v<T, StoredBf16>)
    return {f32_to_bf16(value)};
  else
    return value;
}

/// Entries accessed together: 16 bytes, or one entry.
template <class T, int n>
struct alignas(n * sizeof(T)) Pack {
  T entries[n];
};

template <class T, class Join, int n>
struct RanksKernel {
  const void* sources[most_sources];
  int ranks;
  T* out;
  int64_t first, packs;  ///< starting at entry `first`

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, packs, [&](int64_t i) {
      using Joined = decltype(joined_as(T{}));
      Joined values[n];
      Pack<T, n> pack = read(0, i);
      for (int j = 0; j < n; ++j) values[j] = joined_as(pack.entries[j]);
      for (int rank = 1; rank < ranks; ++rank) {
        pack = read(rank, i);
        for (int j = 0; j < n; ++j) values[j] = Join::join(values[j], joined_as(pack.entries[j]));
      }
      for (int j = 0; j < n; ++j) pack.entries[j] = stored_as<T>(values[j]);
      words_at<Pack<T, n>>(out + first)[i] = pack;
    });
  }
  SHARDPROOF_DEVICE Pack<T, n> read(int rank, int64_t i) const {
    return words_at<Pack<T, n>>(static_cast<const T*>(sources[rank]) + first)[i];
  }
};

template <class T, class Join, int n>
void join_packs(const Stream& stream, const void* const* sources, int ranks, T* out, int64_t first,
                int64_t packs) {
  if (packs == 0) return;
  RanksKernel<T, Join, n> kernel;
  for (int rank = 0; rank < ranks; ++rank) kernel.sources[rank] = sources[rank];
  kernel.ranks = ranks;
  kernel.out = out;
  kernel.first = first;
  kernel.packs = packs;
  launch_each(stream, packs, kernel);
}

template <class T, class Join>
void join_all(const Stream& stream, const void* const* sources, int ranks, void* to,
              size_t entries) {
  constexpr int n = 16 / sizeof(T);
  uintptr_t places = reinterpret_cast<uintptr_t>(to);
  for (int rank = 0; rank < ranks; ++rank) places |= reinterpret_cast<uintptr_t>(sources[rank]);
  const auto count = static_cast<int64_t>(entries);
  const int64_t packs = places % 16 == 0 ? count / n : 0;
  join_packs<T, Join, n>(stream, sources, ranks, static_cast<T*>(to), 0, packs);
  join_packs<T, Join, 1>(stream, sources, ranks, static_cast<T*>(to), packs * n, count - packs * n);
}

template <class Join>
void join_elements(const Stream& stream, Element element, const void* const* sources, int n,
                   void* out, size_t count) {
  switch (element) {
    case Element::f64:
      return join_all<double, Join>(stream, sources, n, out, count);
    case Element::f32:
      return join_all<float, Join>(stream, sources, n, out, count);
    case Element::bf16:
      return join_all<StoredBf16, Join>(stream, sources, n, out, count);
    case Element::i32:
      return join_all<int32_t, Join>(stream, sources, n, out, count);
    case Element::u32:
      return join_all<uint32_t, Join>(stream, sources, n, out, count);
    case Element::u8:
      return join_all<uint8_t, Join>(stream, sources, n, out, count);
    case Element::u64:
      return join_all<uint64_t, Join>(stream, sources, n, out, count);
  }
}

}  // namespace

void reduce_ranks(const Stream& stream, Element element, Reduction reduction,
                  const void* const* sources, int n, void* out, size_t count) {
  if (n > most_sources)
    throw std::length_error("a sum over " + std::to_string(n) + " ranks: the kernel has at most " +
                            std::to_string(most_sources));
  switch (reduction) {
    case Reduction::sum:
      return join_elements<Sum>(stream, element, sources, n, out, count);
    case Reduction::max:
      return join_elements<Maximum>(stream, element, sources, n, out, count);
    case Reduction::min:
      return join_elements<Minimum>(stream, element, sources, n, out, count);
  }
}

}  // namespace shardproof::SHARDPROOF_MACHINE
