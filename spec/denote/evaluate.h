#pragma once
// Evaluates a whole function, on one device or on all devices of a mesh.
#include <functional>
#include <optional>

#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The types of every value of every function: types[function][value].
using Types = std::vector<std::vector<Type>>;

/// The types as the program has them: enough for one device.
Types types_of(const ir::Program& program);
/// The types of the functions that a run of `function` needs; empty for others: files can be large.
Types types_for(const ir::Program& program, size_t function);

/// Plans that compute gradients on a mesh. Key: the function and the leaves to differentiate by.
/// Value: a plan with the same parameters and one gradient cotangent per result.
using Backwards = std::map<std::pair<size_t, std::vector<size_t>>, size_t>;

/// Called first for each call and gradient. Returns the devices' arrays of its results, or none to
/// evaluate it as usual.
template <class S>
using StandIn = std::function<std::optional<std::vector<Distributed<S>>>(
    const ir::Op&, const std::vector<Distributed<S>>&)>;

/// Called with each value that a function computes, also in loops, in order; it may replace it.
template <class S>
using Watch = std::function<void(size_t function, ir::ValueId, Distributed<S>&)>;

/// The devices' arrays of the function's results. `inputs`: its parameters, then its saved ones.
/// Runs scans, calls, entries, and gradients that have a backward. Throws Unsupported for rings,
/// pipelines, stages and functions without a body.
template <class S>
std::vector<Distributed<S>> evaluate_on_mesh(const Geometry& geometry, const Types& types,
                                             size_t function,
                                             const std::vector<Distributed<S>>& inputs,
                                             const Backwards& backwards = {},
                                             const StandIn<S>& stand_in = {});

/// The function's results on one device with whole tensors: the value of its erasure. Ignores axes
/// in `sizes`. Gradients are numeric, for double only.
template <class S>
std::vector<Array<S>> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                               const std::vector<Array<S>>& inputs, const Watch<S>& watch = {});

/// The saved parameters of a backward: the values that its `after` plan saves by name, at these
/// inputs of that plan.
template <class S>
std::vector<Distributed<S>> saved_on_mesh(const Geometry& geometry, const Types& types,
                                          size_t backward,
                                          const std::vector<Distributed<S>>& inputs,
                                          const Backwards& backwards = {},
                                          const StandIn<S>& stand_in = {});
template <class S>
std::vector<Array<S>> saved(const ir::Program& program, size_t backward, const Sizes& sizes,
                            const std::vector<Array<S>>& inputs);

// Instantiated for Rational, Field and double.

}  // namespace shardproof::denote
