#pragma once
// Blocks of entries in registers and cache, for pointwise ops and sums. In a block, floats of any
// element are R (float or double), and everything else is int64_t.
#include "kernels/bf16.h"
#include "kernels/element.h"

namespace shardproof::cpu {

constexpr int64_t block_size = 256;

template <class R>
union alignas(64) Block {
  R real[block_size];
  int64_t integer[block_size];
};

namespace detail {

template <class T, class To, class Convert>
void load_as(To* to, const void* from, int64_t offset, int64_t stride, int64_t n, Convert convert) {
  const T* in = static_cast<const T*>(from) + offset;
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = convert(in[i]);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = convert(in[i * stride]);
}

template <class T, class From, class Convert>
void store_as(void* to, int64_t offset, int64_t stride, const From* from, int64_t n,
              Convert convert) {
  T* out = static_cast<T*>(to) + offset;
  for (int64_t i = 0; i < n; ++i) out[i * stride] = convert(from[i]);
}

}  // namespace detail

/// n <= block_size entries, starting at `offset`, with this stride; to the block's entries from
/// `first`.
template <class R>
void load(Block<R>& block, Element element, const void* from, int64_t offset, int64_t stride,
          int64_t n, int64_t first = 0) {
  R* reals = block.real + first;
  int64_t* integers = block.integer + first;
  auto real = [](auto x) { return static_cast<R>(x); };
  auto whole = [](auto x) { return static_cast<int64_t>(x); };
  switch (element) {
    case Element::f64:
      return detail::load_as<double>(reals, from, offset, stride, n, real);
    case Element::f32:
      return detail::load_as<float>(reals, from, offset, stride, n, real);
    case Element::bf16:
      return detail::load_as<uint16_t>(reals, from, offset, stride, n,
                                       [](uint16_t x) { return static_cast<R>(bf16_to_f32(x)); });
    case Element::i32:
      return detail::load_as<int32_t>(integers, from, offset, stride, n, whole);
    case Element::u32:
      return detail::load_as<uint32_t>(integers, from, offset, stride, n, whole);
    case Element::u8:
      return detail::load_as<uint8_t>(integers, from, offset, stride, n, whole);
    case Element::u64:
      return detail::load_as<uint64_t>(integers, from, offset, stride, n, whole);
  }
}

template <class R>
void store(void* to, Element element, int64_t offset, int64_t stride, const Block<R>& block,
           int64_t n, int64_t first = 0) {
  const R* reals = block.real + first;
  const int64_t* integers = block.integer + first;
  switch (element) {
    case Element::f64:
      return detail::store_as<double>(to, offset, stride, reals, n, [](R x) { return x; });
    case Element::f32:
      return detail::store_as<float>(to, offset, stride, reals, n,
                                     [](R x) { return static_cast<float>(x); });
    case Element::bf16:
      return detail::store_as<uint16_t>(to, offset, stride, reals, n,
                                        [](R x) { return f32_to_bf16(static_cast<float>(x)); });
    case Element::i32:
      return detail::store_as<int32_t>(to, offset, stride, integers, n,
                                       [](int64_t x) { return static_cast<int32_t>(x); });
    case Element::u32:
      return detail::store_as<uint32_t>(to, offset, stride, integers, n,
                                        [](int64_t x) { return static_cast<uint32_t>(x); });
    case Element::u8:
      return detail::store_as<uint8_t>(to, offset, stride, integers, n,
                                       [](int64_t x) { return static_cast<uint8_t>(x != 0); });
    case Element::u64:
      return detail::store_as<uint64_t>(to, offset, stride, integers, n,
                                        [](int64_t x) { return static_cast<uint64_t>(x); });
  }
}

}  // namespace shardproof::cpu
