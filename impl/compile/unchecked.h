#pragma once
// Plans that are not proved, for tests that want to see them go wrong. Not installed.
#include "impl/compile/compile_plan.h"
#include "impl/compile/compiler.h"

namespace shardproof {

/// The derived backwards of a program's plans, whatever their verdicts.
compile::FindBackward any_backwards(const Program& program);

/// Compiles a function whatever its verdict. `unit` and what it refers to outlive the call only;
/// gradients are taken by `find_backward`.
Plan compile_unchecked(const compile::Unit& unit, const Mesh& mesh, const DimSizes& dims,
                       int64_t rank, const PlanOptions& options,
                       const compile::FindBackward& find_backward);

}  // namespace shardproof
