#include "impl/beside_oracle/first_op.h"

namespace shardproof::beside {
namespace {

/// The plan with every value of its body as a result, and the source location of each.
struct Opened {
  ir::Program program;
  std::vector<SourceRange> places;
};

Opened with_all_values(const PlanCase& one) {
  Opened opened{*one.unit.program, {}};
  ir::Function& plan = opened.program.functions.own().at(one.unit.function);
  plan.returned.clear();
  plan.results.clear();
  plan.result_names.clear();
  for (const ir::Instr& instr : plan.body.instrs) {
    if (std::holds_alternative<ir::Number>(instr.op)) continue;
    for (const ir::ValueId value : instr.results) {
      if (value == ir::no_value) continue;
      plan.returned.push_back(value);
      plan.results.push_back(one.unit.type(value));
      plan.result_names.push_back(plan.values.at(value).name);
      opened.places.push_back(instr.place.range);
    }
  }
  return opened;
}

}  // namespace

std::optional<SourceRange> first_op_that_differs(const PlanCase& one,
                                                 const std::shared_ptr<Device>& device) {
  if (one.unit.has_pipeline()) throw PlanError("the values inside a pipeline are not compared");
  const Opened opened = with_all_values(one);
  PlanCase all = one;
  all.unit.program = &opened.program;
  const Evaluate evaluate = erasure_of(one);
  const std::vector<oracle::Tensor> wanted = evaluate(point_of(all));
  const Bounds bounds = rounding_bounds(all, wanted, evaluate).f64;
  const auto got =
      run_on_ranks(all, {.precision = Precision::f64, .fuse = false, .device = device});
  for (size_t r = 0; r < wanted.size(); ++r)
    if (!difference({got.at(r)}, {wanted[r]}, {bounds.at(r)}).empty()) return opened.places.at(r);
  return std::nullopt;
}

}  // namespace shardproof::beside
