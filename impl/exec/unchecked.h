#pragma once
// Plans that nobody has proved, for tests that want to see them go wrong. Not installed.
#include "impl/exec/compiler.h"
#include "impl/exec/plan.h"

namespace shardproof {

/// The derived backwards of a program's plans, whatever is said of them.
exec::FindBackward any_backwards(const Program& program);

class UncheckedPlan {
 public:
  /// Compiles a function whatever is said of it. `unit` and what it refers to outlive the call
  /// only; gradients are taken by `find_backward`.
  static Plan compile(const exec::Unit& unit, const Mesh& mesh, const DimSizes& dims, int64_t rank,
                      const PlanOptions& options, const exec::FindBackward& find_backward);
  /// exec::find_race of its steps.
  static std::string race(const Plan& plan);

 private:
  static void put_in_place(Plan::State& state, const std::vector<std::pair<size_t, size_t>>& pairs);
};

}  // namespace shardproof
