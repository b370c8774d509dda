#include "impl/compile/ops.h"
#include "impl/compile/pipeline.h"
#include "spec/ir/walk.h"

namespace shardproof::compile {
namespace {

/// Operands first .. last as arguments: fused chains are computed, numbers stay numbers.
std::vector<CompiledValue> arguments_of(const Site& site, size_t first, size_t last) {
  std::vector<CompiledValue> arguments;
  for (size_t i = first; i < last; ++i) {
    if (site.expression(i)->kind == Expression::Kind::apply) site.ref(i);
    arguments.push_back({site.expression(i)});
  }
  return arguments;
}

std::vector<Key> keys_of_operands(const Site& site) {
  std::vector<Key> keys;
  for (ir::ValueId id : site.instr.operands) keys.push_back(site.scope.keys.at(id));
  return keys;
}

void define_all(const Site& site, const std::vector<CompiledValue>& values, size_t first = 0) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!site.wanted(first + i)) continue;
    const ExpressionPtr& value = values[i].expression;
    if (value->kind == Expression::Kind::leaf)
      site.define(value->view.ref, first + i);
    else
      site.define(value, first + i);
  }
}

/// The value that `plan` saves under this name.
ir::ValueId saved_value(const Site& site, const ir::Function& plan, const Name& name) {
  for (const ir::Instr& instr : plan.body.instrs)
    if (std::holds_alternative<ir::Save>(instr.op) &&
        plan.values.at(instr.results.at(0)).name == name)
      return instr.results[0];
  throw PlanError(site.compiler.place() + ": " + plan.name + " saves no " + name);
}

/// The gradient of a pipeline is only supported for the plan that contains it.
void refuse_inner_pipelines(const Unit& unit) {
  for_each_instr(unit.plan().body, [&](const ir::Instr& instr) {
    const auto* call = std::get_if<ir::Call>(&instr.op);
    if (!call) return;
    Unit callee = unit;
    callee.function = call->function;
    if (callee.has_pipeline())
      throw PlanError("the gradient of " + unit.plan().name + " cannot be run: it calls " +
                      callee.plan().name + ", which has a pipeline; take that plan's gradient");
    refuse_inner_pipelines(callee);
  });
}

}  // namespace

void compile(const ir::Call& op, const Site& site) {
  Unit callee = site.scope.unit;
  callee.function = op.function;
  std::vector<CompiledValue> arguments = arguments_of(site, 0, site.operands());
  define_all(site, site.compiler.call(callee, site.placement(), std::move(arguments),
                                      keys_of_operands(site)));
}

// If values are saved, the forward is compiled in the backward's program, where they are
// accessible, and then the backward: its parameters are the plan's, one cotangent per result, and
// the saved values. A backward without saved values recomputes what it needs of the forward, so it
// is compiled first and the forward shares common subexpressions with it.
void compile(const ir::Grad& op, const Site& site) {
  Compiler& compiler = site.compiler;
  Unit of = site.scope.unit;
  of.function = op.function;
  refuse_inner_pipelines(of);
  const Unit backward = compiler.find_backward()(of, op.wrt);
  const ir::Function& function = backward.plan();
  const auto own = static_cast<std::ptrdiff_t>(of.plan().params.size());
  std::vector<CompiledValue> arguments = arguments_of(site, 0, site.operands());
  std::vector<Key> keys = keys_of_operands(site);
  const std::string place = compiler.place();
  const auto add_upstream = [&] {
    if (!op.with_value) return;
    const Element element = compiler.element(of.plan().results.at(0).dtype);
    arguments.push_back({constant_of(1, element)});
    keys.push_back(outside_key("one", static_cast<size_t>(element)));
  };
  if (of.has_pipeline()) {
    add_upstream();
    const Differentiated made =
        differentiate_pipeline(site, of, backward, arguments, keys, op.with_value);
    define_all(site, made.results);
    return define_all(site, made.gradients, made.results.size());
  }
  const std::vector<CompiledValue> primal(arguments.begin(), arguments.begin() + own);
  const std::vector<Key> primal_keys(keys.begin(), keys.begin() + own);
  Unit forward = function.after ? backward : of;
  if (function.after) forward.function = *function.after;
  const bool saves = !function.saved_params.empty();

  std::vector<CompiledValue> saved, results;
  std::vector<Key> saved_keys;
  if (saves) {
    Scope scope = compiler.enter(forward, site.placement(), primal_keys);
    for (size_t i = 0; i < primal.size(); ++i)
      scope.values.at(forward.plan().params.at(i)) = primal[i];
    for (ir::ValueId id : function.saved_params)
      ++scope.uses.at(saved_value(site, forward.plan(), function.values.at(id).name));
    compiler.run_block(scope, forward.plan().body);
    for (ir::ValueId id : function.saved_params) {
      const ir::ValueId value = saved_value(site, forward.plan(), function.values.at(id).name);
      compiler.ref(scope, value);
      saved.push_back(scope.values.at(value));
      saved_keys.push_back(scope.keys.at(value));
    }
    for (ir::ValueId id : forward.plan().returned) {
      compiler.ref(scope, id);
      if (op.with_value) results.push_back(scope.values.at(id));
    }
    compiler.set_place(place);
  }
  add_upstream();
  arguments.insert(arguments.end(), saved.begin(), saved.end());
  keys.insert(keys.end(), saved_keys.begin(), saved_keys.end());
  const std::vector<CompiledValue> gradients =
      compiler.call(backward, site.placement(), std::move(arguments), keys);
  if (op.with_value && !saves) {
    const size_t first = compiler.step_count();
    results = compiler.call(forward, site.placement(), primal, primal_keys);
    compiler.move_up(first);
  }
  define_all(site, results);
  define_all(site, gradients, results.size());
}

}  // namespace shardproof::compile
