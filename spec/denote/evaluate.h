#pragma once
// A whole function, on one device or on all devices of a mesh.
#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The types of every value of every function: types[function][value].
using Types = std::vector<std::vector<Type>>;

/// The types in the program, as they are: enough for one device.
Types types_of(const ir::Program& program);

/// What the devices hold of the function's results. `inputs`: its parameters, then its saved ones.
/// Scans, calls and entries run; rings, pipelines, stages, gradients and functions without a body
/// throw Unsupported.
template <class S>
std::vector<Distributed<S>> evaluate_on_mesh(const ir::Program& program, const Types& types,
                                             size_t function, const Sizes& sizes,
                                             const std::vector<Distributed<S>>& inputs);

/// The function's results on one device with whole tensors: the value of its erasure. Axes in
/// `sizes` are ignored.
template <class S>
std::vector<Array<S>> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                               const std::vector<Array<S>>& inputs);

// Instantiated for Rational, Field and double.

}  // namespace shardproof::denote
