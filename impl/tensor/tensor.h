#pragma once
// A rank's part of a value: its type and local entries.
#include <cstddef>
#include <vector>

#include "impl/device/buffer.h"
#include "kernels/element.h"
#include "spec/types/type.h"

namespace shardproof {

/// One rank's entries, row-major.
struct LocalTensor {
  Type type;
  Element element = Element::f32;
  std::vector<int64_t> extents;  ///< local
  Buffer buffer;

  LocalTensor() = default;
  LocalTensor(Type of, Element entries, std::vector<int64_t> local);
  int64_t count() const;
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(buffer.data());
  }
};

/// How floats are stored and computed: by the program's dtypes, or all in one type.
enum class Precision { as_written, f32, f64 };

/// The element for entries of `dtype`. A number has the widest float.
Element element_of(Dtype dtype, Precision precision);

/// Row-major strides.
std::vector<int64_t> row_major(const std::vector<int64_t>& extents);

}  // namespace shardproof
