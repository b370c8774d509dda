#include "impl/exec/plan.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "impl/exec/plan_calls.h"
#include "impl/exec/unchecked.h"
#include "impl/steps/overlap.h"
#include "impl/steps/runner.h"
#include "kernels/number.h"

namespace shardproof {

using exec::Frame;
using exec::Step;

struct Plan::State {
  Name name;
  Mesh mesh;
  int64_t rank = 0;
  std::vector<Slot> inputs, outputs;
  std::vector<exec::BufferId> input_buffers, output_buffers, given;
  std::vector<exec::Piece> pieces;
  std::vector<Step> steps;
  std::vector<std::vector<int>> groups;
  size_t loops = 0, arena_bytes = 0;
  Buffer arena;
  std::optional<exec::PlanCalls> calls;  ///< made for the first communicator that compares calls
  bool check_finite = false;
  bool measured = false;
  std::map<std::string, OpTime> times;

  using Times = std::map<std::string, OpTime>;
  void run(Frame& frame);
  void run_one(const Step& step, Frame& frame, Times& into) const;
};

void Plan::State::run(Frame& frame) {
  Times beside;  // of the communication thread
  exec::Runner runner(
      frame, [&](const Step& step) { run_one(step, frame, times); },
      [&](const Step& step) { run_one(step, frame, beside); });
  runner.run(steps);
  for (const auto& [op, time] : beside) {
    times[op + " beside"].calls += time.calls;
    times[op + " beside"].seconds += time.seconds;
  }
  if (!beside.empty()) times["wait"].seconds += runner.waited();
}

void Plan::State::run_one(const Step& step, Frame& frame, Times& into) const {
  using Clock = std::chrono::steady_clock;
  const auto begin = measured ? Clock::now() : Clock::time_point();
  try {
    step.run(frame);
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw PlanError("rank " + std::to_string(rank) + ": " + step.place + ": " + error.what());
  }
  if (measured) {
    OpTime& time = into[step.op];
    ++time.calls;
    time.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  }
}

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

Plan UncheckedPlan::compile(const exec::Unit& unit, const Mesh& mesh, const DimSizes& dims,
                            int64_t rank, const PlanOptions& options,
                            const exec::FindBackward& find_backward) {
  auto state = std::make_unique<Plan::State>();
  state->mesh = mesh;
  state->rank = rank;
  exec::Compiler compiler(find_backward, options.precision);
  const Placement placement(*unit.program, mesh, dims, rank);
  const ir::Function& function = unit.plan();
  std::vector<ir::ValueId> params = function.params;
  params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
  std::vector<exec::Value> arguments;
  for (ir::ValueId id : params) {
    const Slot slot = slot_of(compiler, placement, function.values.at(id).name, unit.type(id));
    const exec::Ref ref = compiler.external(slot.element, slot.extents);
    state->inputs.push_back(slot);
    state->input_buffers.push_back(ref.buffer);
    arguments.push_back(compiler.leaf(ref, slot.type));
  }
  const std::vector<exec::Value> results = compiler.call(unit, placement, std::move(arguments));
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
  state->loops = compiler.loops();
  if (options.overlap) exec::overlap(state->steps);
  exec::find_lifetimes(state->steps, state->pieces);
  state->given = compiler.externals();
  for (exec::BufferId id : state->given) state->pieces[id].bytes = 0;
  state->arena_bytes = exec::place_buffers(state->pieces, options.reuse_memory);
  state->arena = Buffer(state->arena_bytes);
  state->name = function.name;
  state->check_finite = options.check_finite;
  return Plan(std::move(state));
}

std::string UncheckedPlan::race(const Plan& plan) {
  return exec::find_race(plan.state_->steps, plan.state_->pieces, plan.state_->given);
}

const std::vector<Slot>& Plan::inputs() const { return state_->inputs; }
const std::vector<Slot>& Plan::outputs() const { return state_->outputs; }
size_t Plan::arena_bytes() const { return state_->arena_bytes; }
const std::vector<Step>& Plan::steps() const { return state_->steps; }
void Plan::measure(bool on) { state_->measured = on; }
const std::map<std::string, OpTime>& Plan::times() const { return state_->times; }

Tensor Plan::input(size_t i) const {
  const Slot& slot = state_->inputs.at(i);
  return Tensor(slot.type, slot.element, slot.extents);
}

namespace {

std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t each : numbers) text += (text.empty() ? "" : " ") + std::to_string(each);
  return "[" + text + "]";
}

/// Whether both lie alike on the mesh: an axis of one rank says nothing.
bool same_placement(const Shape& a, const Shape& b, const Mesh& mesh) {
  auto axes = [&](const Split& split) {
    std::vector<Axis> long_axes;
    for (const Axis& axis : split.axes)
      if (mesh.size(axis) > 1) long_axes.push_back(axis);
    return long_axes;
  };
  auto marks = [&](Marks all) {
    std::erase_if(all, [&](const auto& mark) { return mesh.size(mark.first) == 1; });
    return all;
  };
  if (a.dims.size() != b.dims.size() || marks(a.marks) != marks(b.marks)) return false;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (axes(a.dims[i]) != axes(b.dims[i])) return false;
  return true;
}

void require_fits(const Tensor& tensor, const Slot& slot, const Mesh& mesh,
                  const std::string& where) {
  auto text = [](Element element, const std::vector<int64_t>& extents) {
    return name_of(element) + list(extents);
  };
  if (tensor.element != slot.element || tensor.extents != slot.extents)
    throw PlanError(where + " is " + text(tensor.element, tensor.extents) + " and has to be " +
                    text(slot.element, slot.extents) + ", the part of " + to_string(slot.type) +
                    " that this rank has: make it with Plan::input()");
  if (!same_placement(tensor.type, slot.type, mesh))
    throw PlanError(where + " lies on the ranks as " + to_string(tensor.type) +
                    " and has to lie as " + to_string(slot.type) +
                    ": redistribute it by a plan, or make it with Plan::input()");
}

void require_finite(const Tensor& tensor, const std::string& where) {
  const bool real = is_float(tensor.type.dtype);
  const int64_t count = real ? tensor.count() : 0;  // a whole number is finite
  for (int64_t i = 0; i < count; ++i)
    if (const double x = number_at(tensor.element, tensor.buffer.data(), i); !std::isfinite(x)) {
      std::vector<int64_t> index;
      for (int64_t stride : row_major(tensor.extents)) {
        index.push_back(i / stride % tensor.extents[index.size()]);
      }
      throw PlanError(where + " is " + std::to_string(x) + " at entry " + list(index) +
                      " of this rank's part: look for it where the tensor was read or computed");
    }
}

}  // namespace

std::vector<Tensor> Plan::run(Communicator& communicator,
                              const std::vector<const Tensor*>& inputs) {
  State& state = *state_;
  if (communicator.size() != state.mesh.ranks() || communicator.rank() != state.rank)
    throw PlanError("the plan is for rank " + std::to_string(state.rank) + " of " +
                    std::to_string(state.mesh.ranks()) + " (" + state.mesh.text() +
                    "), and this is rank " + std::to_string(communicator.rank()) + " of " +
                    std::to_string(communicator.size()) +
                    ": start as many ranks as the mesh has, and make each rank's plan for it");
  if (inputs.size() != state.inputs.size())
    throw PlanError("the plan takes " + std::to_string(state.inputs.size()) + " tensors, not " +
                    std::to_string(inputs.size()) + ": one for each of Plan::inputs()");
  if (!communicator.any_thread() && exec::has_starts(state.steps))
    throw PlanError(
        "the plan overlaps, and its communicator takes calls from one thread only: "
        "initialize MPI with MPI_THREAD_SERIALIZED, or compile without overlap");
  Frame frame;
  frame.communicator = &communicator;
  frame.loops.resize(state.loops);
  for (const exec::Piece& piece : state.pieces)
    frame.buffers.push_back(state.arena.data() + piece.offset);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Slot& slot = state.inputs[i];
    const std::string where = "rank " + std::to_string(state.rank) + ": " + slot.name;
    require_fits(*inputs[i], slot, state.mesh, where);
    if (state.check_finite) require_finite(*inputs[i], where);
    frame.buffers[state.input_buffers[i]] = inputs[i]->buffer.data();
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    const Slot& slot = state.outputs[i];
    outputs.emplace_back(slot.type, slot.element, slot.extents);
    frame.buffers[state.output_buffers[i]] = outputs.back().buffer.data();
  }
  for (const std::vector<int>& ranks : state.groups)
    frame.groups.push_back(&communicator.group(ranks));
  std::optional<exec::SpotChecked> spot_checked;
  if (communicator.checks_calls()) {
    if (!state.calls)
      state.calls = exec::calls_of(state.steps, state.pieces.size(), state.loops, state.groups,
                                   state.name + " on " + state.mesh.text());
    frame.communicator = &spot_checked.emplace(communicator, *state.calls);
  }
  state.run(frame);
  if (spot_checked) spot_checked->finish();
  return outputs;
}

std::vector<Tensor> Plan::run(Communicator& communicator, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& each : inputs) pointers.push_back(&each);
  return run(communicator, pointers);
}

}  // namespace shardproof
