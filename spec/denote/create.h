#pragma once
// Tensors made from nothing or from a key: each device makes its own part from global indices.
#include "spec/denote/array.h"
#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The global index along `dim`.
template <class S>
Array<S> iota(const Geometry& geometry, const Type& type, size_t dim, int64_t device) {
  const int64_t first = geometry.offset(type.dims.at(dim), device);
  Array<S> result{geometry.local_shape(type), {}};
  Extents unit(type.dims.size(), 0);
  unit[dim] = 1;
  walk(result.shape, {unit}, [&](const int64_t* i) { result.data.push_back(S(first + i[0])); });
  return result;
}

/// A function of the key and the row-major global index.
template <class S>
Array<S> random(const Geometry& geometry, const Type& type, ir::RandomFn fn, const S& key,
                int64_t device) {
  Array<S> result{geometry.local_shape(type), {}};
  for (int64_t index : geometry.global_indices(type, device))
    result.data.push_back(Scalar<S>::draw(fn, key, index));
  return result;
}

}  // namespace shardproof::denote
