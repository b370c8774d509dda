#pragma once
// The element of an array: the type of an entry in memory. Kernels, communicators and plans use it.
#ifndef __CUDACC_RTC__
#include <cstddef>
#include <cstdint>
#endif

#include "kernels/machine.h"

namespace shardproof {

/// f64 f32 bf16: floats. i32 u32: integers. u8: booleans, 0 or 1. u64: random keys.
enum class Element : uint8_t { f64, f32, bf16, i32, u32, u8, u64 };

SHARDPROOF_HD constexpr size_t size_of(Element element) {
  switch (element) {
    case Element::f64:
    case Element::u64:
      return 8;
    case Element::f32:
    case Element::i32:
    case Element::u32:
      return 4;
    case Element::bf16:
      return 2;
    case Element::u8:
      return 1;
  }
  return 0;
}

/// Whether it is a float.
SHARDPROOF_HD constexpr bool is_real(Element element) {
  return element == Element::f64 || element == Element::f32 || element == Element::bf16;
}

constexpr const char* name_of(Element element) {
  switch (element) {
    case Element::f64:
      return "f64";
    case Element::f32:
      return "f32";
    case Element::bf16:
      return "bf16";
    case Element::i32:
      return "i32";
    case Element::u32:
      return "u32";
    case Element::u8:
      return "u8";
    case Element::u64:
      return "u64";
  }
  return "?";
}

/// How a reduction over ranks or a dim combines entries.
enum class Reduction : uint8_t { sum, max, min };

inline const char* name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return "sum";
    case Reduction::max:
      return "max";
    case Reduction::min:
      return "min";
  }
  return "?";
}

}  // namespace shardproof
