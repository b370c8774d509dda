#pragma once
// Compiles plans that are not proved, for tests that expect them to fail. Not installed.
#include "impl/compile/compile_plan.h"
#include "impl/compile/compiler.h"

namespace shardproof {

/// The derived backwards of a program's plans, whatever their verdicts.
compile::FindBackward any_backwards(const Program& program);

/// Compiles a function for one rank, whatever its verdict. `on_mesh` must outlive the call only.
/// Gradients come from `find_backward`.
Plan compile_unchecked(const compile::OnMesh& on_mesh, int64_t rank, const PlanOptions& options,
                       const compile::FindBackward& find_backward);

}  // namespace shardproof
