// value_and_grad of a plan with a pipeline: one schedule for forward, backward and emitted
// values.
#include <set>

#include "impl/compile/pipeline.h"

namespace shardproof::compile {
namespace {

const ir::Instr& pipeline_in(const Unit& unit) {
  const ir::Instr* found = nullptr;
  for (const ir::Instr& instr : unit.plan().body.instrs)
    if (std::holds_alternative<ir::Pipeline>(instr.op)) {
      if (found)
        throw PlanError("the gradient of " + unit.plan().name +
                        " cannot be run: it has two pipelines");
      found = &instr;
    }
  if (!found) throw std::logic_error("no pipeline where one is expected");
  return *found;
}

void give(Scope& scope, const std::vector<CompiledValue>& arguments) {
  const std::vector<ir::ValueId>& params = scope.unit.plan().params;
  for (size_t i = 0; i < params.size(); ++i) scope.values.at(params[i]) = arguments.at(i);
}

}  // namespace

Differentiated differentiate_pipeline(const Site& site, const Unit& of, const Unit& backward,
                                      const std::vector<CompiledValue>& arguments,
                                      const std::vector<Key>& keys, bool with_value) {
  Compiler& compiler = site.compiler;
  const ir::Function& plan = of.plan();
  if (!backward.plan().saved_params.empty())
    throw PlanError("the gradient of " + plan.name + " cannot be run: a pipeline saves no values");
  const std::string place = compiler.place();
  const ir::Instr& written = pipeline_in(of);
  const ir::Instr& stages = stages_in(written, place);
  if (!std::get<ir::Stages>(stages.op).body->emit.empty())
    throw PlanError("the gradient of " + plan.name + " cannot be run yet: its stages emit values");
  const std::vector<Key> own_keys(keys.begin(),
                                  keys.begin() + static_cast<std::ptrdiff_t>(plan.params.size()));
  Scope value = compiler.enter(of, site.placement(), own_keys);
  Unit scans = of;  // the scans that the pipeline stands for, as in its backward
  scans.written = nullptr;
  value.keys = compiler.keys(scans, value.placement, own_keys);
  give(value, arguments);
  Scope back = compiler.enter(backward, site.placement(), keys);
  give(back, arguments);

  StageLevels levels(of, value.keys, written, stages, backward, back.keys);
  ir::Instr pipeline = written;
  std::set<size_t> read;
  for (const auto& [id, emitted] : levels.emitted) read.insert(emitted);
  for (size_t i = 0; i < pipeline.results.size(); ++i)
    if (!with_value && !read.contains(i)) pipeline.results[i] = ir::no_value;
  const auto& op = std::get<ir::Pipeline>(written.op);
  const Slice before(plan.body, needs_of(*op.body), {&written});
  compiler.run_block(value, before.block());
  compiler.set_place(place);
  const auto gradient =
      run_pipeline(Site(compiler, value, pipeline), op, [&](StagePlace stage, bool has_w) {
        auto made =
            std::make_unique<StageGradient>(compiler, back, levels, std::move(stage), has_w);
        made->before();
        return made;
      });
  std::vector<CompiledValue> emitted(pipeline.results.size());
  for (const size_t i : read) emitted[i] = value.values.at(pipeline.results[i]);
  Differentiated result;
  if (with_value) {
    const ValueIds returned(plan.returned.begin(), plan.returned.end());
    compiler.run_block(value, Slice(plan.body, returned, {&written}).without(before));
    for (const ir::ValueId id : plan.returned) {
      compiler.ref(value, id);
      result.results.push_back(value.values.at(id));
    }
  }
  result.gradients = gradient->after(emitted);
  compiler.set_place(place);
  return result;
}

}  // namespace shardproof::compile
