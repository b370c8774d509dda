#pragma once
// A whole function, on one device or on all devices of a mesh.
#include <functional>
#include <optional>

#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The types of every value of every function: types[function][value].
using Types = std::vector<std::vector<Type>>;

/// The types in the program, as they are: enough for one device.
Types types_of(const ir::Program& program);
/// Of the functions that a run of one needs; the others are empty: a file may have thousands.
Types types_for(const ir::Program& program, size_t function);

/// Plans that stand for gradients where a program runs on a mesh: the function and the leaves it is
/// differentiated by, then a plan with its parameters and a gradient for each result.
using Backwards = std::map<std::pair<size_t, std::vector<size_t>>, size_t>;

/// Asked first at each call and each gradient: what the devices hold of its results, or nothing
/// where the program itself is to say it.
template <class S>
using StandIn = std::function<std::optional<std::vector<Distributed<S>>>(
    const ir::Op&, const std::vector<Distributed<S>>&)>;

/// What the devices hold of the function's results. `inputs`: its parameters, then its saved ones.
/// Scans, calls and entries run, and gradients that have a backward; rings, pipelines, stages and
/// functions without a body throw Unsupported.
template <class S>
std::vector<Distributed<S>> evaluate_on_mesh(const ir::Program& program, const Types& types,
                                             size_t function, const Sizes& sizes,
                                             const std::vector<Distributed<S>>& inputs,
                                             const Backwards& backwards = {},
                                             const StandIn<S>& stand_in = {});

/// The function's results on one device with whole tensors: the value of its erasure. Axes in
/// `sizes` are ignored. Gradients are numeric ones, of double alone.
template <class S>
std::vector<Array<S>> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                               const std::vector<Array<S>>& inputs);

/// The saved parameters of a backward: what the plan it comes after saves by their names, at these
/// inputs of that plan.
template <class S>
std::vector<Distributed<S>> saved_on_mesh(const ir::Program& program, const Types& types,
                                          size_t backward, const Sizes& sizes,
                                          const std::vector<Distributed<S>>& inputs,
                                          const Backwards& backwards = {},
                                          const StandIn<S>& stand_in = {});
template <class S>
std::vector<Array<S>> saved(const ir::Program& program, size_t backward, const Sizes& sizes,
                            const std::vector<Array<S>>& inputs);

// Instantiated for Rational, Field and double.

}  // namespace shardproof::denote
