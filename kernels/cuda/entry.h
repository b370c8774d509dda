#pragma once
// One entry of an array whose element is known at run time: a real R (float or double), or int64_t
// for every element that is not a float.
#include "kernels/bf16.h"
#include "kernels/element.h"
#ifndef SHARDPROOF_ON_GPU
#include <stdexcept>
#endif

namespace shardproof::SHARDPROOF_MACHINE {

/// A word at an aligned address. At any other address a GPU faults and the emulator
/// throws.
template <class Word>
SHARDPROOF_HD inline const Word* words_at(const void* address) {
#ifndef SHARDPROOF_ON_GPU
  if (reinterpret_cast<uintptr_t>(address) % alignof(Word) != 0)
    throw std::logic_error("a word is not aligned");
#endif
  return static_cast<const Word*>(address);
}
template <class Word>
SHARDPROOF_HD inline Word* words_at(void* address) {
  return const_cast<Word*>(words_at<Word>(static_cast<const void*>(address)));
}

template <class R>
SHARDPROOF_HD inline R load_real(Element element, const void* from, int64_t i) {
  if (element == Element::f32) return static_cast<R>(static_cast<const float*>(from)[i]);
  if (element == Element::bf16)
    return static_cast<R>(bf16_to_f32(static_cast<const uint16_t*>(from)[i]));
  return static_cast<R>(static_cast<const double*>(from)[i]);
}

template <class R>
SHARDPROOF_HD inline void store_real(Element element, void* to, int64_t i, R value) {
  if (element == Element::f32)
    static_cast<float*>(to)[i] = static_cast<float>(value);
  else if (element == Element::bf16)
    static_cast<uint16_t*>(to)[i] = f32_to_bf16(static_cast<float>(value));
  else
    static_cast<double*>(to)[i] = static_cast<double>(value);
}

SHARDPROOF_HD inline int64_t load_integer(Element element, const void* from, int64_t i) {
  if (element == Element::i32) return static_cast<const int32_t*>(from)[i];
  if (element == Element::u32) return static_cast<const uint32_t*>(from)[i];
  if (element == Element::u8) return static_cast<const uint8_t*>(from)[i];
  return static_cast<const int64_t*>(from)[i];
}

SHARDPROOF_HD inline void store_integer(Element element, void* to, int64_t i, int64_t value) {
  if (element == Element::u8)
    static_cast<uint8_t*>(to)[i] = value != 0;
  else if (element == Element::u64)
    static_cast<int64_t*>(to)[i] = value;
  else
    static_cast<uint32_t*>(to)[i] = static_cast<uint32_t>(value);
}

/// As a double: exact for every element but keys.
SHARDPROOF_HD inline double load_number(Element element, const void* from, int64_t i) {
  if (is_real(element)) return load_real<double>(element, from, i);
  if (element == Element::u64) return static_cast<double>(static_cast<const uint64_t*>(from)[i]);
  return static_cast<double>(load_integer(element, from, i));
}

/// Stores a result of load_number, or a sum of such numbers.
SHARDPROOF_HD inline void store_number(Element element, void* to, int64_t i, double value) {
  if (is_real(element)) return store_real(element, to, i, value);
  if (element == Element::u8) return store_integer(element, to, i, value != 0);
  store_integer(element, to, i, static_cast<int64_t>(value));
}

}  // namespace shardproof::SHARDPROOF_MACHINE
