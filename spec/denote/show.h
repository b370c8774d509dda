#pragma once
// Numbers per device, in words.
#include "spec/denote/trial.h"

namespace shardproof::denote {

std::string show(const Array<double>& x);  ///< `-2`, `[1, 2]`, `[[1, 0], [0, 1]]`
std::string show_mesh(const Sizes& sizes);
std::string show_dims(const ir::Program& program, const Sizes& sizes);

/// `device t=0 holds -2, t=1 holds 1`, for devices that may differ; else `each device holds 1`.
std::string show_held(const Geometry& geometry, const Type& type, const Distributed<double>& x);

/// `0 and 1`; with more than two devices `t=0: 0, t=1: 1, t=2: 1`.
std::string show_each(const Geometry& geometry, const Distributed<double>& x);

/// `d=0 t=1`: the coordinates of a device; `device` on a mesh with one device.
std::string show_device(const Geometry& geometry, int64_t device);

/// What each device holds, what it should hold (if `type` and `wanted` determine it), and what the
/// devices represent together.
HeldValue held_value(const Geometry& geometry, const Type& type, const Distributed<double>& x,
                     const std::string& name, const Array<double>* wanted = nullptr);

/// The lines of a counterexample: operands, results per device at the types `results`, wanted
/// values.
Counterexample explain(const Trial& trial, const Values<double>& operands,
                       const std::vector<Type>& results, bool stated, size_t wrong);

}  // namespace shardproof::denote
