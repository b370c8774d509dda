#pragma once
// Tensors made from nothing or from a key: each device makes its own part from global indices.
#include "spec/denote/array.h"
#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The global index along `dim`.
template <class S>
Distributed<S> iota(const Geometry& geometry, const Type& type, size_t dim) {
  Distributed<S> result(static_cast<size_t>(geometry.devices()), geometry.local_shape(type));
  const Blocks own(result.shape(), dim);
  for (size_t device = 0; device < result.size(); ++device) {
    const int64_t first = geometry.offset(type.dims[dim], static_cast<int64_t>(device));
    const std::span<S> entries = result.on(device);
    for (size_t i = 0; i < entries.size(); ++i)
      entries[i] = S(first + static_cast<int64_t>(i) / own.inner % own.extent);
  }
  return result;
}

/// A function of each device's key and the row-major global index.
template <class S>
Distributed<S> random(const Geometry& geometry, const Type& type, ir::RandomFn fn,
                      const Distributed<S>& keys) {
  Distributed<S> result(keys.size(), geometry.local_shape(type));
  for (size_t device = 0; device < result.size(); ++device) {
    size_t i = 0;
    for (int64_t index :
         geometry.global_indices(type, result.shape(), static_cast<int64_t>(device)))
      result.on(device)[i++] = Scalar<S>::draw(fn, keys.on(device)[0], index);
  }
  return result;
}

}  // namespace shardproof::denote
