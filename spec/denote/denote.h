#pragma once
// The meaning of an op: what it does to the local arrays of all devices. Rules, counterexamples and
// checks of values are tested against it. A template over the scalar: exact rational, prime field,
// double, dual number.
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::denote {

/// A row-major array.
template <class Scalar>
struct Array {
  std::vector<int64_t> shape;
  std::vector<Scalar> data;
  bool operator==(const Array&) const = default;
};

/// One array per device; devices in row-major order of the mesh's axes.
template <class Scalar>
using Distributed = std::vector<Array<Scalar>>;

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

}  // namespace shardproof::denote
