#pragma once
// The meaning of an op: what it does to the local arrays of all devices. Rules, counterexamples and
// checks of values are tested against it. A template over the scalar: exact rational, prime field,
// double, dual number.
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::denote {

/// The op has no value here. Base of all exceptions of this folder.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The scalar or this evaluator does not support the op: exp of a rational, a ring.
struct Unsupported : Error {
  using Error::Error;
};
/// Local arrays do not fit each other, or an axis does not divide a size.
struct Mismatch : Error {
  using Error::Error;
};
/// An index is beyond the end of its dim.
struct OutOfRange : Error {
  using Error::Error;
};
/// A number is too large for the scalar, or a division by zero.
struct Overflow : Error {
  using Error::Error;
};

using Extents = std::vector<int64_t>;  ///< one per dim: sizes or strides

inline int64_t count(const Extents& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

/// A row-major array.
template <class Scalar>
struct Array {
  Extents shape;
  std::vector<Scalar> data;
  bool operator==(const Array&) const = default;
};

/// The arrays of all devices, one after another, which have one shape; devices in row-major order
/// of the mesh's axes.
template <class Scalar>
class Distributed {
 public:
  Distributed() = default;
  Distributed(size_t devices, Extents shape, const Scalar& entry = Scalar(0))
      : shape_(std::move(shape)),
        each_(static_cast<size_t>(count(shape_))),
        devices_(devices),
        data_(devices * each_, entry) {}
  Distributed(std::initializer_list<Array<Scalar>> arrays) {
    for (const Array<Scalar>& each : arrays) push_back(each);
  }
  /// The array of one more device.
  void push_back(const Array<Scalar>& array) {
    if (size() == 0) *this = Distributed(0, array.shape);
    if (array.shape != shape_ || array.data.size() != each_)
      throw Mismatch("an array of another size than its shape, or than the others");
    data_.insert(data_.end(), array.data.begin(), array.data.end());
    ++devices_;
  }

  size_t size() const { return data_.empty() ? 0 : devices_; }  ///< none of a value that was moved
  const Extents& shape() const { return shape_; }
  /// A copy of a device's array.
  Array<Scalar> operator[](size_t device) const {
    const std::span<const Scalar> own = on(device);
    return {shape_, {own.begin(), own.end()}};
  }
  /// The entries of a device.
  std::span<Scalar> on(size_t device) { return {data_.data() + first(device), each_}; }
  std::span<const Scalar> on(size_t device) const { return {data_.data() + first(device), each_}; }
  /// The entries of all devices.
  std::span<Scalar> all() { return data_; }
  std::span<const Scalar> all() const { return data_; }

 private:
  size_t first(size_t device) const {
    const size_t first = device * each_;
    if (first + each_ > data_.size()) throw std::out_of_range("no such device");
    return first;
  }

  Extents shape_;
  size_t each_ = 0, devices_ = 0;
  std::vector<Scalar> data_;
};

/// An operand: its type and the devices' arrays. Does not own them.
template <class Scalar>
struct Held {
  const Type& type;
  const Distributed<Scalar>& value;
};

/// The sizes of a mesh's axes, and of the base dims.
struct Sizes {
  std::vector<std::pair<Axis, int64_t>> mesh;
  std::map<Name, int64_t> dims;
  int64_t devices() const;
  int64_t axis(const Axis& name) const;  ///< 1 for an axis that is not in the mesh
};

}  // namespace shardproof::denote
