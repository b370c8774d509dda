#include <algorithm>
#include <cmath>

#include "impl/beside_oracle/plan_case.h"
#include "spec/ir/walk.h"

namespace shardproof::beside {
namespace {

constexpr double safety = 8;

/// For each result, how far any entry moves with this unit roundoff.
Bounds farthest(const PlanCase& one, const std::vector<oracle::Tensor>& wanted, double unit,
                bool inputs_round, unsigned evaluations, const Evaluate& evaluate) {
  Bounds farthest(wanted.size());
  for (unsigned seed = 1; seed <= evaluations; ++seed) {
    const Bounds moved =
        moved_by_rounding(point_of(one), wanted, unit, seed, inputs_round, evaluate);
    for (size_t r = 0; r < wanted.size(); ++r) farthest[r] = std::max(farthest[r], moved[r]);
  }
  return farthest;
}

Bounds scaled(Bounds bounds, double factor) {
  for (double& each : bounds) each *= factor;
  return bounds;
}

/// Each entry's own rounding is a lower bound, whatever the random evaluations show.
Bounds at_least_rounded(Bounds bounds, const std::vector<oracle::Tensor>& wanted, double unit) {
  for (size_t r = 0; r < wanted.size(); ++r)
    for (double x : wanted[r].data) bounds[r] = std::max(bounds[r], 4 * unit * std::abs(x));
  return bounds;
}

bool uses_bf16(const ir::Program& program, const std::vector<std::vector<Type>>& types,
               size_t function, std::vector<bool>& seen);

bool block_uses_bf16(const ir::Program& program, const std::vector<std::vector<Type>>& types,
                     const ir::Block& block, std::vector<bool>& seen) {
  return std::any_of(block.instrs.begin(), block.instrs.end(), [&](const ir::Instr& instr) {
    if (const auto callee = callee_of(instr.op)) return uses_bf16(program, types, *callee, seen);
    auto* scan = std::get_if<ir::Scan>(&instr.op);
    return scan && block_uses_bf16(program, types, *scan->body, seen);
  });
}

bool uses_bf16(const ir::Program& program, const std::vector<std::vector<Type>>& types,
               size_t function, std::vector<bool>& seen) {
  if (seen.at(function)) return false;
  seen[function] = true;
  return std::any_of(types.at(function).begin(), types[function].end(),
                     [](const Type& type) { return type.dtype == Dtype::bf16; }) ||
         block_uses_bf16(program, types, program.functions.at(function).body, seen);
}

}  // namespace

// A thousandth of f32's roundoff shows which entries move, and the effect is linear.
RoundingBounds rounding_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                               const Evaluate& evaluate, unsigned times) {
  const Bounds moved = farthest(one, wanted, 0x1p-30, false, times, evaluate);
  return {at_least_rounded(scaled(moved, safety * 0x1p-23), wanted, 0x1p-53),
          at_least_rounded(scaled(moved, safety * 0x1p6), wanted, 0x1p-24)};
}

Bounds written_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                      const Evaluate& evaluate, unsigned times) {
  std::vector<bool> seen(one.unit.program->functions.size());
  if (!uses_bf16(*one.unit.program, *one.unit.types, one.unit.function, seen))
    return rounding_bounds(one, wanted, evaluate, times).f32;
  return scaled(farthest(one, wanted, 0x1p-9, true, times, evaluate), safety);
}

Bounds wide_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                   const BoundsBy& by) {
  constexpr unsigned many = 40;  // perturbed evaluations
  Bounds bounds = by(wanted, shardproof::claimed, many);
  const Evaluate evaluate = erasure_of(one);
  const Bounds own = by(evaluate(point_of(one)), evaluate, many);
  for (size_t r = 0; r < bounds.size(); ++r) bounds[r] = std::max(bounds[r], own.at(r));
  return bounds;
}

bool would_see_a_factor(const std::vector<oracle::Tensor>& wanted, const Bounds& bounds) {
  for (size_t r = 0; r < wanted.size(); ++r)
    for (double x : wanted[r].data)
      if (std::abs(0.001 * x) > bounds.at(r)) return true;
  return false;
}

}  // namespace shardproof::beside
