#pragma once
// One entry of an array as a number, for code that is not performance-critical.
#include <stdexcept>

#include "kernels/bf16.h"
#include "kernels/element.h"

namespace shardproof {

/// Entry i. Throws std::logic_error for a key, which is not a number.
inline double number_at(Element element, const void* data, int64_t i) {
  switch (element) {
    case Element::f64:
      return static_cast<const double*>(data)[i];
    case Element::f32:
      return static_cast<const float*>(data)[i];
    case Element::bf16:
      return bf16_to_f32(static_cast<const uint16_t*>(data)[i]);
    case Element::i32:
      return static_cast<const int32_t*>(data)[i];
    case Element::u32:
      return static_cast<const uint32_t*>(data)[i];
    case Element::u8:
      return static_cast<const uint8_t*>(data)[i];
    case Element::u64:
      break;
  }
  throw std::logic_error("a key is not a number");
}

/// Sets entry i to `value`, rounded if it is a float.
inline void set_number(Element element, void* data, int64_t i, double value) {
  switch (element) {
    case Element::f64:
      static_cast<double*>(data)[i] = value;
      return;
    case Element::f32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case Element::bf16:
      static_cast<uint16_t*>(data)[i] = f32_to_bf16(static_cast<float>(value));
      return;
    case Element::i32:
      static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
      return;
    case Element::u32:
      static_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(value);
      return;
    case Element::u8:
      static_cast<uint8_t*>(data)[i] = value != 0;
      return;
    case Element::u64:
      break;
  }
  throw std::logic_error("a key is not a number");
}

}  // namespace shardproof
