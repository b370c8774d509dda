#pragma once
// A graph of ops on 4-D tensors, as libraries of fused kernels take it; as data, so that it can
// also run on the CPU.
#include <array>
#include <vector>

#include "kernels/element.h"

namespace shardproof {

using Four = std::array<int64_t, 4>;

/// A number, an array in memory, or an intermediate value that is never stored.
struct GraphTensor {
  enum class Kind { number, array, passing } kind = Kind::passing;
  Element element = Element::f32;  ///< an op's result is rounded to it
  Four extents{1, 1, 1, 1}, strides{1, 1, 1, 1};
  float number = 0;
};

/// A dim of extent 1 is broadcast. In a product, dim 1 of b may be shorter than a's: each
/// entry serves as many adjacent ones; a sum over dim 1 combines adjacent entries in the same
/// way.
enum class GraphFn : uint8_t {
  multiply,
  add,
  subtract,
  divide,
  exp,
  log,
  identity,
  index,     ///< (x): the index along `axis`, for x's extents
  at_least,  ///< (a, b): a >= b
  select,    ///< (a, b, which): a where which, else b
  largest,   ///< (x): over the dims that the result lacks
  sum,       ///< (x): over the same dims
  product,   ///< (a, b): over the last dim of a and dim 2 of b
  turned,    ///< (x): swaps dims 2 and 3
};

struct GraphOp {
  GraphFn fn;
  std::vector<size_t> arguments;
  size_t result;
  int64_t axis = 0;
};

struct TensorGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphOp> ops;  ///< each after its arguments
};

/// The strides of four dims in row-major order.
constexpr Four packed_strides(const Four& extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

}  // namespace shardproof
