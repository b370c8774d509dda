#pragma once
// A rank's part of a value: its type, and the entries that the rank has.
#include <cstddef>
#include <vector>

#include "impl/device/buffer.h"
#include "kernels/element.h"
#include "spec/types/type.h"

namespace shardproof {

/// Row-major entries of one rank.
struct Tensor {
  Type type;
  Element element = Element::f32;
  std::vector<int64_t> extents;  ///< local
  Buffer buffer;

  Tensor() = default;
  Tensor(Type of, Element entries, std::vector<int64_t> local);
  int64_t count() const;
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(buffer.data());
  }
};

/// How floats are kept and computed: as the program's dtypes say, or all of them in one way.
enum class Precision { as_written, f32, f64 };

/// What entries of `dtype` are in memory. A number is the widest float.
Element element_of(Dtype dtype, Precision precision);

/// Row-major strides.
std::vector<int64_t> row_major(const std::vector<int64_t>& extents);

}  // namespace shardproof
