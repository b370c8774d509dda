#include <algorithm>
#include <cmath>

#include "impl/beside_oracle/plan_case.h"
#include "spec/ir/walk.h"

namespace shardproof::beside {
namespace {

constexpr double safety = 8;

constexpr double f32_unit = 0x1p-24, bf16_unit = 0x1p-9;
constexpr unsigned many = 40;  // perturbed evaluations

Bounds larger(Bounds a, const Bounds& b) {
  for (size_t r = 0; r < a.size(); ++r) a[r] = std::max(a[r], b.at(r));
  return a;
}

/// For each result, how far any entry moves with this rounding.
Bounds farthest(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                const Rounding& rounding, unsigned evaluations, const Evaluate& evaluate) {
  Bounds farthest(wanted.size());
  for (unsigned seed = 1; seed <= evaluations; ++seed)
    farthest = larger(std::move(farthest),
                      moved_by_rounding(point_of(one), wanted, rounding, seed, evaluate));
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

/// Small integers give sums of exactly 0, of which a plan may have divided each term by 3 before.
Bounds at_least_of_terms(Bounds bounds, const std::vector<oracle::Tensor>& wanted) {
  double size = 1;
  for (const oracle::Tensor& each : wanted)
    for (double x : each.data) size = std::max(size, std::abs(x));
  for (double& each : bounds) each = std::max(each, 0x1p-44 * size);
  return bounds;
}

/// With what numbers of the format itself make of it: a difference that is 0, a square too small
/// for its exponent. Seldom needed, so only where a plan is about to be called wrong.
Bounds with_its_numbers(Bounds bounds, const PlanCase& one,
                        const std::vector<oracle::Tensor>& wanted, const Rounding& rounding,
                        unsigned evaluations, const Evaluate& evaluate) {
  if (evaluations < many) return bounds;
  return larger(std::move(bounds),
                scaled(farthest(one, wanted, rounding, evaluations, evaluate), safety));
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
  const Bounds moved = farthest(one, wanted, {.unit = f32_unit / 64}, times, evaluate);
  const Bounds f64 = at_least_rounded(scaled(moved, safety * 0x1p-23), wanted, 0x1p-53);
  const Bounds f32 = at_least_rounded(scaled(moved, safety * 64), wanted, f32_unit);
  return {one.ties ? at_least_of_terms(f64, wanted) : f64,
          with_its_numbers(f32, one, wanted, {.unit = f32_unit, .off = oracle::Off::to_a_number},
                           times, evaluate)};
}

Bounds written_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                      const Evaluate& evaluate, unsigned times) {
  std::vector<bool> seen(one.unit.program->functions.size());
  if (!uses_bf16(*one.unit.program, *one.unit.types, one.unit.function, seen))
    return rounding_bounds(one, wanted, evaluate, times).f32;
  return with_its_numbers(
      scaled(farthest(one, wanted, {.unit = bf16_unit, .inputs = true}, times, evaluate), safety),
      one, wanted, {.unit = bf16_unit, .inputs = true, .off = oracle::Off::to_a_number}, times,
      evaluate);
}

Bounds wide_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                   const BoundsBy& by) {
  const Evaluate evaluate = erasure_of(one);
  return larger(by(wanted, shardproof::claimed, many), by(evaluate(point_of(one)), evaluate, many));
}

bool would_see_a_factor(const std::vector<oracle::Tensor>& wanted, const Bounds& bounds) {
  for (size_t r = 0; r < wanted.size(); ++r)
    for (double x : wanted[r].data)
      if (std::abs(0.001 * x) > bounds.at(r)) return true;
  return false;
}

}  // namespace shardproof::beside
