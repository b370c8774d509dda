#include "impl/compile/compile_plan.h"

#include <algorithm>
#include <set>

#include "impl/compile/unchecked.h"
#include "impl/plan/passes/list.h"
#include "impl/run/plan_state.h"
#include "spec/check/requirements.h"

namespace shardproof {

using plan::Step;

namespace {

/// Checks divisibilities and `require`s; errors name the sizes that violate them.
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
  std::vector<ir::Requirement> required = requirements_of_sizes(resolved, report.function);
  required.insert(required.begin(), resolved.requirements.begin(), resolved.requirements.end());
  for (const ir::Requirement& each : required)
    if (!hold(resolved, {each}, placement.numbers()))
      throw PlanError(report.name + " requires " + ir::to_string(each.condition));
}

void require_verdict(const Program& program, const PlanReport& report, bool accept_unknown) {
  if (report.verdict == Verdict::proved) return;
  if (accept_unknown && report.verdict == Verdict::unknown) return;
  throw PlanError(not_run(report) + "\n" + program.report());
}

compile::Unit unit_of(const CheckedBackward& backward) {
  return {&backward.checked->program(), &backward.checked->types(), backward.sources.get(),
          backward.report()->function};
}

compile::FindBackward proved_backwards(const Program& program, bool accept_unknown) {
  return [&program, accept_unknown](const compile::Unit& plan, const std::vector<size_t>& wrt) {
    if (plan.program != &program.checked().program())
      throw PlanError(plan.plan().name + ": a gradient inside a backward cannot be run");
    const CheckedBackward& backward = program.backward(plan.function, wrt);
    if (backward.verdict() != Verdict::proved && !accept_unknown)
      throw PlanError("the derived backward of " + plan.plan().name + " is " +
                      to_string(backward.verdict()));
    return unit_of(backward);
  };
}

/// Gives each parameter its buffer. The results of the compiled function.
std::vector<compile::CompiledValue> compile_call(compile::Compiler& compiler,
                                                 const compile::OnMesh& on_mesh,
                                                 Plan::State& state) {
  const compile::Unit& unit = on_mesh.unit;
  const ir::Function& function = unit.plan();
  std::vector<compile::CompiledValue> arguments;
  for (const auto* params : {&function.params, &function.saved_params})
    for (ir::ValueId id : *params) {
      const Type& type = unit.type(id);
      Slot slot{function.values.at(id).name, type, compiler.element(type.dtype),
                on_mesh.extents->of(id)};
      plan::Ref ref = compiler.external(slot.element, slot.extents);
      state.inputs.push_back(std::move(slot));
      state.input_buffers.push_back(ref.buffer);
      arguments.push_back(compile::in_memory(std::move(ref)));
    }
  return compiler.call(on_mesh, state.rank, arguments);
}

/// Gives each result its buffer: the one in which it was made, or one that it is copied to.
void add_results(compile::Compiler& compiler, const ir::Function& function,
                 const Placement& placement, const std::vector<compile::CompiledValue>& results,
                 Plan::State& state) {
  compiler.set_place("result of " + function.name);
  std::set<plan::BufferId> given;
  for (size_t i = 0; i < results.size(); ++i) {
    const Type& type = function.results.at(i);
    Slot slot{i < function.result_names.size() ? function.result_names[i] : "", type,
              compiler.element(type.dtype), placement.extents(type)};
    const plan::Ref& made = results[i].expression->view.ref;
    if (made.extents != slot.extents)
      throw PlanError("result " + std::to_string(i) + " of " + function.name + " does not fit " +
                      to_string(slot.type));
    // Made where it is wanted, unless a part of a buffer, an input, or a result twice.
    if (compiler.is_whole(made) && made.element == slot.element &&
        given.insert(made.buffer).second) {
      compiler.give(made.buffer);
      state.output_buffers.push_back(made.buffer);
    } else {
      const plan::Ref to = compiler.external(slot.element, slot.extents);
      compiler.move("result", made, to);
      state.output_buffers.push_back(to.buffer);
    }
    state.outputs.push_back(std::move(slot));
  }
}

void take_steps(compile::Compiler& compiler, Plan::State& state) {
  state.steps = compiler.take_steps();
  state.given = compiler.take_externals();
  compile::drop_unread(state.steps, state.given);
  state.pieces = compiler.take_pieces();
  state.groups = compiler.take_groups();
  state.group_axes = compiler.take_group_axes();
  state.loops = compiler.loops();
  state.stage_axis = compiler.stage_axis();
  state.works = compiler.take_works();
}

/// Results take the memory of parameters where nothing reads those any more when they are made;
/// others are copied there at the end.
void put_in_place(Plan::State& state, const std::vector<std::pair<size_t, size_t>>& pairs) {
  for (const auto& [input, output] : pairs) {
    const Slot &from = state.inputs.at(input), &to = state.outputs.at(output);
    if (from.element != to.element || from.extents != to.extents)
      throw PlanError("result " + to.name + " cannot take the place of " + from.name +
                      ": their sizes differ");
    const plan::BufferId kept = state.input_buffers[input], made = state.output_buffers[output];
    if (plan::may_share(state.steps, kept, made)) {
      state.same.emplace_back(kept, made);
      continue;
    }
    // `made` becomes a buffer of the arena.
    std::erase(state.given, made);
    plan::Ref target;
    target.buffer = kept;
    target.element = to.element;
    target.extents = to.extents;
    target.strides = row_major(to.extents);
    plan::Ref source = target;
    source.buffer = made;
    Step step;
    step.op = "result";
    step.place = "result of " + state.name;
    step.kernel = {
        Copy{compile::nest_of({&target, &source}), size_of(to.element)}, target, {source}};
    step.reads = {made};
    step.writes = {kept};
    step.waits = 0;
    state.steps.push_back(std::move(step));
    state.output_buffers[output] = kept;
  }
}

void run_passes(Plan::State& state, const PlanOptions& options, bool alike) {
  const auto print = [&](const char* stage) {
    if (options.watch) options.watch(stage, state.text());
  };
  print("compile");
  std::vector<plan::BufferId> constant;
  for (const size_t input : options.constant) constant.push_back(state.input_buffers.at(input));
  // A stage of a pipeline fuses by turns, and has no step before them.
  const plan::Wanted wanted{options.fuse, options.elide, options.overlap,
                            !constant.empty() && alike};
  const plan::Draft draft{state.steps, state.pieces, state.given, *state.device,
                          alike,       constant,     state.first};
  for (const plan::Pass& pass : plan::passes()) {
    if (pass.when(wanted)) pass.run(draft);
    print(pass.name);
  }
}

/// Places what the first run makes in memory of its own: the arena may be another plan's between
/// runs.
void place_constants(Plan::State& state) {
  std::vector<plan::Piece> own = state.pieces;
  for (plan::Piece& piece : own) piece.first = ~size_t{0}, piece.last = 0;
  plan::find_lifetimes(state.first, own);
  size_t end = 0;
  for (const plan::Piece& piece : own) end = std::max(end, piece.last + 1);
  const plan::BufferUses later(state.steps), made(state.first);
  for (plan::BufferId id = 0; id < own.size(); ++id) {
    if (made.writes_of(id) == 0) continue;
    if (later.reads_of(id) > 0) own[id].first = 0, own[id].last = end;
    state.pieces[id].first = ~size_t{0}, state.pieces[id].last = 0;
    state.given.push_back(id);
    state.constant_buffers.push_back(id);
  }
  state.constants = state.device->allocate(plan::place_buffers(own, true));
  for (const plan::BufferId id : state.constant_buffers) state.pieces[id].offset = own[id].offset;
}

void require_constant(const Plan::State& state, const PlanOptions& options) {
  for (const auto& [input, output] : options.in_place)
    if (std::count(options.constant.begin(), options.constant.end(), input))
      throw PlanError(state.inputs.at(input).name + " cannot be constant: a result overwrites it");
}

}  // namespace

std::vector<std::string> plan_stages() {
  std::vector<std::string> names{"compile"};
  for (const plan::Pass& pass : plan::passes()) names.push_back(pass.name);
  return names;
}

compile::FindBackward any_backwards(const Program& program) {
  return [&program](const compile::Unit& plan, const std::vector<size_t>& wrt) {
    return unit_of(program.backward(plan.function, wrt));
  };
}

Plan compile_unchecked(const compile::OnMesh& on_mesh, int64_t rank, const PlanOptions& options,
                       const compile::FindBackward& find_backward) {
  const compile::Unit& unit = on_mesh.unit;
  const Placement placement = on_mesh.placement.on(rank);
  auto state = std::make_unique<Plan::State>();
  state->mesh = placement.mesh();
  state->rank = rank;
  state->device = options.device ? options.device : cpu_device();
  for (size_t i = 0; i < plan::queue_count; ++i) state->queues.push_back(state->device->queue());
  compile::Compiler compiler(find_backward, options.precision, *state->device);
  compiler.set_fuses(options.fuse);
  compiler.set_unroll(std::max<size_t>(options.unroll, 1));
  const ir::Function& function = unit.plan();
  const auto results = compile_call(compiler, on_mesh, *state);
  add_results(compiler, function, placement, results, *state);
  take_steps(compiler, *state);
  require_constant(*state, options);
  state->constant.resize(state->inputs.size());
  for (const size_t input : options.constant) state->constant.at(input) = true;
  state->read_from.resize(state->inputs.size());
  state->name = function.name;
  run_passes(*state, options, compiler.alike());
  put_in_place(*state, options.in_place);
  plan::find_lifetimes(state->steps, state->pieces);
  for (plan::BufferId id : state->given) state->pieces[id].bytes = 0;
  if (!state->first.empty()) place_constants(*state);
  state->arena_bytes = plan::place_buffers(state->pieces, options.reuse_memory);
  const bool shares = options.arena && state->device->is_host();
  state->arena = shares ? options.arena : std::make_shared<Buffer>();
  if (state->arena->bytes() < state->arena_bytes)
    *state->arena = state->device->allocate(state->arena_bytes);
  plan::prepare(state->first, *state->device);
  plan::prepare(state->steps, *state->device);
  state->check_finite = options.check_finite;
  state->assumed = plan::assumed_inputs(function, unit.sources, placement);
  const bool uses_queues = !state->device->is_host();
  if (const std::string found = uses_queues ? state->find_race() : ""; !found.empty())
    throw std::logic_error(function.name + ": " + found);
  return Plan(std::move(state));
}

Plan compile_plan(const Program& program, const Name& name, const Mesh& mesh, const DimSizes& dims,
                  int64_t rank, const PlanOptions& options) {
  const PlanReport& report = program.plan(name);
  require_verdict(program, report, options.accept_unknown);
  require_sizes(program, report, mesh, dims);
  return compile_unchecked(
      compile::OnMesh(
          {&program.checked().program(), &program.checked().types(), &program.sources(),
           report.function, &program.checked().written(), &program.checked().schedules()},
          mesh, dims),
      rank, options, proved_backwards(program, options.accept_unknown));
}

}  // namespace shardproof
