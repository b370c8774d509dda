#include "impl/exec/plan.h"

#include <algorithm>
#include <set>

#include "impl/exec/plan_state.h"
#include "impl/exec/unchecked.h"
#include "impl/steps/bias.h"
#include "impl/steps/overlap.h"

namespace shardproof {

using exec::Step;

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

namespace {

/// Divisibilities and `require`s, with the sizes that do not meet them.
void require_sizes(const Program& program, const PlanReport& report, const Mesh& mesh,
                   const DimSizes& dims) {
  const ir::Program& resolved = program.checked().program();
  const Placement placement(resolved, mesh, dims, 0);
  for (const Divisibility& condition : report.conditions) {
    int64_t parts = 1;
    for (const Axis& axis : condition.axes) parts *= mesh.size(axis);
    const int64_t size = placement.size(condition.dim);
    if (size % parts != 0)
      throw PlanError(report.name + " needs " + to_string(condition) + ": " +
                      to_string(condition.dim) + " = " + std::to_string(size) +
                      " does not divide into " + std::to_string(parts) +
                      " parts; the nearest are " +
                      (size > parts ? std::to_string(size / parts * parts) + " and " : "") +
                      std::to_string((size / parts + 1) * parts));
  }
  for (const ir::Requirement& each : resolved.requirements)
    if (ir::evaluate(each.condition, placement.numbers()) == 0)
      throw PlanError(report.name + " requires " + ir::to_string(each.condition));
}

void require_verdict(const Program& program, const PlanReport& report, bool accept_unknown) {
  if (report.verdict == Verdict::proved) return;
  if (accept_unknown && report.verdict == Verdict::unknown) return;
  throw PlanError(report.name + " is " + to_string(report.verdict) +
                  ", and only what is proved is run\n" + program.report());
}

exec::Unit unit_of(const CheckedBackward& backward) {
  return {&backward.checked->program(), &backward.checked->types(), backward.sources.get(),
          backward.report()->function};
}

exec::FindBackward proved_backwards(const Program& program, bool accept_unknown) {
  return [&program, accept_unknown](const exec::Unit& plan, const std::vector<size_t>& wrt) {
    if (plan.program != &program.checked().program())
      throw PlanError(plan.plan().name + ": a gradient inside a backward cannot be run");
    const CheckedBackward& backward = program.backward(plan.function, wrt);
    if (backward.verdict() != Verdict::proved && !accept_unknown)
      throw PlanError("the derived backward of " + plan.plan().name + " is " +
                      to_string(backward.verdict()));
    return unit_of(backward);
  };
}

Slot slot_of(const exec::Compiler& compiler, const Placement& placement, const Name& name,
             const Type& type) {
  return {name, type, compiler.element(type.dtype), placement.extents(type)};
}

}  // namespace

Plan::Plan(const Program& program, const Name& name, const Mesh& mesh, const DimSizes& dims,
           int64_t rank, const PlanOptions& options)
    : Plan([&] {
        const PlanReport& report = program.plan(name);
        require_verdict(program, report, options.accept_unknown);
        require_sizes(program, report, mesh, dims);
        return UncheckedPlan::compile({&program.checked().program(), &program.checked().types(),
                                       &program.sources(), report.function},
                                      mesh, dims, rank, options,
                                      proved_backwards(program, options.accept_unknown));
      }()) {}

exec::FindBackward any_backwards(const Program& program) {
  return [&program](const exec::Unit& plan, const std::vector<size_t>& wrt) {
    return unit_of(program.backward(plan.function, wrt));
  };
}

/// Results take the memory of parameters where nothing reads those any more when they are made;
/// others are copied there at the end.
void UncheckedPlan::put_in_place(Plan::State& state,
                                 const std::vector<std::pair<size_t, size_t>>& pairs) {
  for (const auto& [input, output] : pairs) {
    const Slot &from = state.inputs.at(input), &to = state.outputs.at(output);
    if (from.element != to.element || from.extents != to.extents)
      throw PlanError("result " + to.name + " cannot take the place of " + from.name +
                      ": it is of another size");
    const exec::BufferId kept = state.input_buffers[input], made = state.output_buffers[output];
    if (exec::may_share(state.steps, kept, made)) {
      state.same.emplace_back(kept, made);
      continue;
    }
    // `made` becomes memory of the arena.
    std::erase(state.given, made);
    exec::Ref target;
    target.buffer = kept;
    target.element = to.element;
    target.extents = to.extents;
    target.strides = row_major(to.extents);
    exec::Ref source = target;
    source.buffer = made;
    Step step;
    step.op = "result";
    step.place = "result of " + state.name;
    step.kernel = {Copy{exec::nest_of({&target, &source}), size_of(to.element)}, target, {source}};
    step.reads = {made};
    step.writes = {kept};
    step.waits = 0;
    state.steps.push_back(std::move(step));
    state.output_buffers[output] = kept;
  }
}

Plan UncheckedPlan::compile(const exec::Unit& unit, const Mesh& mesh, const DimSizes& dims,
                            int64_t rank, const PlanOptions& options,
                            const exec::FindBackward& find_backward) {
  auto state = std::make_unique<Plan::State>();
  state->mesh = mesh;
  state->rank = rank;
  state->device = options.device ? options.device : cpu_device();
  for (size_t i = 0; i < exec::queue_count; ++i) state->queues.push_back(state->device->queue());
  exec::Compiler compiler(find_backward, options.precision, *state->device);
  compiler.set_fuses(options.fuse);
  compiler.set_unroll(std::max<size_t>(options.unroll, 1));
  const Placement placement(*unit.program, mesh, dims, rank);
  const ir::Function& function = unit.plan();
  std::vector<ir::ValueId> params = function.params;
  params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
  std::vector<exec::Value> arguments;
  std::vector<exec::Key> keys;
  for (ir::ValueId id : params) {
    keys.push_back(exec::outside_key("parameter", keys.size()));
    const Slot slot = slot_of(compiler, placement, function.values.at(id).name, unit.type(id));
    const exec::Ref ref = compiler.external(slot.element, slot.extents);
    state->inputs.push_back(slot);
    state->input_buffers.push_back(ref.buffer);
    arguments.push_back(compiler.leaf(ref, slot.type));
  }
  const std::vector<exec::Value> results =
      compiler.call(unit, placement, std::move(arguments), keys);
  compiler.set_place("result of " + function.name);
  std::set<exec::BufferId> given;
  for (size_t i = 0; i < results.size(); ++i) {
    const Name name = i < function.result_names.size() ? function.result_names[i] : "";
    const Slot slot = slot_of(compiler, placement, name, function.results.at(i));
    const exec::Ref& made = results[i].expression->ref;
    if (made.extents != slot.extents)
      throw PlanError("result " + std::to_string(i) + " of " + function.name + " does not fit " +
                      to_string(slot.type));
    state->outputs.push_back(slot);
    // Made where it is wanted, unless a part of a buffer, an input, or a result twice.
    if (compiler.is_whole(made) && made.element == slot.element &&
        given.insert(made.buffer).second) {
      compiler.give(made.buffer);
      state->output_buffers.push_back(made.buffer);
      continue;
    }
    const exec::Ref to = compiler.external(slot.element, slot.extents);
    compiler.move("result", made, to);
    state->output_buffers.push_back(to.buffer);
  }
  state->steps = compiler.take_steps();
  state->pieces = compiler.pieces();
  state->groups = compiler.groups();
  state->group_axes = compiler.group_axes();
  state->loops = compiler.loops();
  state->given = compiler.externals();
  if (options.fuse) exec::join_bias(state->steps, state->given, *state->device);
  if (options.tidy) exec::join_parts(state->steps, state->pieces, state->given);
  exec::fold_scale(state->steps, state->given);
  if (options.tidy) {
    exec::keep_narrow(state->steps, state->pieces, state->given);
    exec::compute_packed(state->steps, state->pieces, state->given);
  }
  exec::make_in_stack(state->steps, state->pieces, state->given);
  if (options.fuse) exec::join_rows(state->steps, state->pieces, state->given, *state->device);
  if (options.overlap) exec::overlap(state->steps, compiler.alike());
  put_in_place(*state, options.in_place);
  exec::find_lifetimes(state->steps, state->pieces);
  for (exec::BufferId id : state->given) state->pieces[id].bytes = 0;
  state->arena_bytes = exec::place_buffers(state->pieces, options.reuse_memory);
  state->arena = state->device->allocate(state->arena_bytes);
  exec::prepare(state->steps, *state->device);
  state->name = function.name;
  state->check_finite = options.check_finite;
  state->assumed = exec::assumed_inputs(function, placement);
  const bool uses_queues = !state->device->is_host();
  if (uses_queues) state->commands = exec::commands_of(state->steps);
  Plan plan(std::move(state));
  if (const std::string found = uses_queues ? race(plan) : ""; !found.empty())
    throw std::logic_error(function.name + ": " + found);
  return plan;
}

std::string UncheckedPlan::race(const Plan& plan) {
  const Plan::State& state = *plan.state_;
  return exec::find_race(state.steps, state.pieces, state.given, state.same);
}

const std::vector<Slot>& Plan::inputs() const { return state_->inputs; }
const std::vector<Slot>& Plan::outputs() const { return state_->outputs; }
size_t Plan::arena_bytes() const { return state_->arena_bytes; }
const std::vector<Step>& Plan::steps() const { return state_->steps; }
void Plan::measure(bool on) { state_->measured = on; }
const std::map<std::string, OpTime>& Plan::times() const { return state_->times; }

}  // namespace shardproof
