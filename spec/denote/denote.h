#pragma once
// What an op does to the local arrays of all devices: the meaning that rules, counterexamples and
// value-level checks are measured by. A template over the scalar: exact rational, prime field,
// double, term.
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

/// An operand of an op: its type and what the devices hold. Refers, does not own.
template <class Scalar>
struct Held {
  const Type& type;
  const Distributed<Scalar>& value;
};

/// A mesh with sizes, and the sizes of the base dims.
struct Sizes {
  std::vector<std::pair<Axis, int64_t>> mesh;
  std::map<Name, int64_t> dims;
  int64_t devices() const;
  int64_t axis(const Axis& name) const;  ///< 1 for an axis that is not in the mesh
};

/// The op has no value here: all that this folder throws.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// The scalar, or this evaluator, cannot do it: exp of a rational, a ring.
struct Unsupported : Error {
  using Error::Error;
};
/// Local arrays that do not fit each other, or sizes that an axis does not divide.
struct Mismatch : Error {
  using Error::Error;
};
/// An index beyond the end of its dim.
struct OutOfRange : Error {
  using Error::Error;
};
/// A number too large for the scalar, or a division by zero.
struct Overflow : Error {
  using Error::Error;
};

}  // namespace shardproof::denote
