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

/// A gradient that is being compiled: the plan and its backward, and what both get.
class GradientCall {
 public:
  GradientCall(const ir::Grad& op, const Site& site)
      : op_(op),
        site_(site),
        compiler_(site.compiler),
        of_(plan_of(op, site)),
        backward_(compiler_.find_backward()(of_, op.wrt)),
        arguments_(arguments_of(site, 0, site.operands())),
        keys_(keys_of_operands(site)) {
    const auto own = static_cast<std::ptrdiff_t>(of_.plan().params.size());
    primal_.assign(arguments_.begin(), arguments_.begin() + own);
    primal_keys_.assign(keys_.begin(), keys_.begin() + own);
  }

  void compile() {
    if (of_.has_pipeline()) return compile_pipeline();
    const bool saves = !backward_.plan().saved_params.empty();
    Results results = saves ? run_and_save() : Results();
    add_upstream();
    arguments_.insert(arguments_.end(), saved_.begin(), saved_.end());
    keys_.insert(keys_.end(), saved_keys_.begin(), saved_keys_.end());
    const Results gradients =
        compiler_.call(backward_, site_.placement(), std::move(arguments_), keys_);
    if (op_.with_value && !saves) results = value_before_gradients();
    define_all(site_, results);
    define_all(site_, gradients, results.size());
  }

 private:
  using Results = std::vector<CompiledValue>;

  static Unit plan_of(const ir::Grad& op, const Site& site) {
    Unit of = site.scope.unit;
    of.function = op.function;
    refuse_inner_pipelines(of);
    return of;
  }

  void compile_pipeline() {
    add_upstream();
    const Differentiated made =
        differentiate_pipeline(site_, of_, backward_, arguments_, keys_, op_.with_value);
    define_all(site_, made.results);
    define_all(site_, made.gradients, made.results.size());
  }

  /// The gradient of the value itself is 1.
  void add_upstream() {
    if (!op_.with_value) return;
    const Element element = compiler_.element(of_.plan().results.at(0).dtype);
    arguments_.push_back({constant_of(1, element)});
    keys_.push_back(outside_key("one", static_cast<size_t>(element)));
  }

  /// The forward of a backward that comes after it is in the backward's program.
  Unit forward() const {
    const std::optional<size_t> after = backward_.plan().after;
    Unit forward = after ? backward_ : of_;
    if (after) forward.function = *after;
    return forward;
  }

  /// Runs the plan forward and keeps what its backward takes as saved. The results.
  Results run_and_save() {
    const std::string place = compiler_.place();
    const Unit unit = forward();
    const ir::Function& plan = unit.plan();
    std::vector<ir::ValueId> values;
    for (ir::ValueId id : backward_.plan().saved_params)
      values.push_back(saved_value(site_, plan, backward_.plan().values.at(id).name));
    Scope scope = compiler_.enter(unit, site_.placement(), primal_keys_);
    for (size_t i = 0; i < primal_.size(); ++i) scope.values.at(plan.params.at(i)) = primal_[i];
    for (ir::ValueId value : values) ++scope.uses.at(value);
    compiler_.run_block(scope, plan.body);
    for (ir::ValueId value : values) {
      compiler_.ref(scope, value);
      saved_.push_back(scope.values.at(value));
      saved_keys_.push_back(scope.keys.at(value));
    }
    Results results;
    for (ir::ValueId id : plan.returned) {
      compiler_.ref(scope, id);
      if (op_.with_value) results.push_back(scope.values.at(id));
    }
    compiler_.set_place(place);
    return results;
  }

  Results value_before_gradients() {
    const size_t first = compiler_.step_count();
    Results results = compiler_.call(forward(), site_.placement(), primal_, primal_keys_);
    compiler_.move_up(first);
    return results;
  }

  const ir::Grad& op_;
  const Site& site_;
  Compiler& compiler_;
  const Unit of_, backward_;
  std::vector<CompiledValue> arguments_, primal_, saved_;
  std::vector<Key> keys_, primal_keys_, saved_keys_;
};

}  // namespace

void compile(const ir::Call& op, const Site& site) {
  Unit callee = site.scope.unit;
  callee.function = op.function;
  std::vector<CompiledValue> arguments = arguments_of(site, 0, site.operands());
  define_all(site, site.compiler.call(callee, site.placement(), std::move(arguments),
                                      keys_of_operands(site)));
}

// With saved values the plan runs forward in the program of its backward, where they are at hand,
// and then the backward: on the plan's parameters, a gradient for each result, and what was saved.
// A backward without them computes what it needs of the forward itself, and so comes first: the
// value takes from it what they have in common.
void compile(const ir::Grad& op, const Site& site) { GradientCall(op, site).compile(); }

}  // namespace shardproof::compile
