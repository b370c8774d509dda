#pragma once
// A rank's part of a value: its type, and the entries that the rank has.
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "kernels/element.h"
#include "spec/types/type.h"

namespace shardproof {

/// Memory aligned to a cache line, not initialised.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(::operator new(bytes + 64, alignment))) {}
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, alignment); }
  };
  size_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

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
