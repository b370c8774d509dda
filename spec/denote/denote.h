#pragma once
// What an op does to the local arrays of all devices: the meaning that rules, counterexamples and
// value-level checks are measured by. A template over the scalar: exact rational, prime field,
// double, term.
#include <map>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::denote {

/// A row-major array.
template <class Scalar>
struct Array {
  std::vector<int64_t> shape;
  std::vector<Scalar> data;
};

/// One array per device; devices in row-major order of the mesh's axes.
template <class Scalar>
using Distributed = std::vector<Array<Scalar>>;

/// A mesh with sizes, and the sizes of the base dims.
struct Sizes {
  std::vector<std::pair<Axis, int64_t>> mesh;
  std::map<Name, int64_t> dims;
  int64_t devices() const;
  int64_t axis(const Axis& name) const;  ///< 1 for an axis that is not in the mesh
};

}  // namespace shardproof::denote
