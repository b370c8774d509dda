#pragma once
// Entries of arrays as numbers, apart from how the kernels do it.
#include <cmath>
#include <cstring>

#include "kernels/element.h"

namespace shardproof::properties {

/// The nearest bf16, ties to even: 8 significant bits.
inline float nearest_bf16(float value) {
  int exponent;
  const float fraction = std::frexp(value, &exponent);  // 0.5 <= |fraction| < 1
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

/// A bf16 entry.
struct Bf16 {
  uint16_t bits = 0;

  Bf16() = default;
  explicit Bf16(float value) {
    uint32_t wide;
    const float rounded = nearest_bf16(value);
    std::memcpy(&wide, &rounded, sizeof wide);
    bits = static_cast<uint16_t>(wide >> 16);
  }
  explicit operator float() const {
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

/// Calls visit(entry, sum) with a value of the type of the entries and one of the type in which
/// they are summed.
template <class Visit>
auto visit_element(Element element, const Visit& visit) {
  switch (element) {
    case Element::f64:
      return visit(double{}, double{});
    case Element::f32:
      return visit(float{}, float{});
    case Element::bf16:
      return visit(Bf16{}, float{});
    case Element::i32:
      return visit(int32_t{}, int32_t{});
    case Element::u32:
      return visit(uint32_t{}, uint32_t{});
    case Element::u8:
      return visit(uint8_t{}, uint8_t{});
    case Element::u64:
      break;
  }
  return visit(uint64_t{}, uint64_t{});
}

}  // namespace shardproof::properties
