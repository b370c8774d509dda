// Runs a compiled plan: validates its inputs, and passes the steps to threads or streams.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "impl/comm/gather_texts.h"
#include "impl/comm/staged/staged.h"
#include "impl/run/plan_state.h"
#include "impl/run/runner.h"
#include "kernels/number.h"

namespace shardproof {

using plan::Step;
using plan::StepContext;

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

const std::vector<Slot>& Plan::inputs() const { return state_->inputs; }
const std::vector<Slot>& Plan::outputs() const { return state_->outputs; }
size_t Plan::arena_bytes() const { return state_->arena_bytes; }
const std::vector<Step>& Plan::steps() const { return state_->steps; }
void Plan::measure(bool on, bool by_place) {
  state_->measured = on;
  state_->by_place = by_place;
}
const std::map<std::string, OpTime>& Plan::times() const { return state_->times; }
const std::optional<Axis>& Plan::stage_axis() const { return state_->stage_axis; }
const std::vector<schedule::Timed>& Plan::timeline() const { return state_->timeline; }

LocalTensor Plan::input(size_t i) const {
  const Slot& slot = state_->inputs.at(i);
  return LocalTensor(slot.type, slot.element, slot.extents);
}

namespace {

std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t each : numbers) text += (text.empty() ? "" : " ") + std::to_string(each);
  return "[" + text + "]";
}

/// Whether both have the same layout on the mesh; ignores axes with one rank.
bool same_placement(const Shape& a, const Shape& b, const Mesh& mesh) {
  if (a == b) return true;
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

void require_fits(const LocalTensor& tensor, const Slot& slot, const Mesh& mesh,
                  const std::function<std::string()>& where) {
  auto text = [](Element element, const std::vector<int64_t>& extents) {
    return name_of(element) + list(extents);
  };
  if (tensor.element != slot.element || tensor.extents != slot.extents)
    throw PlanError(where() + " is " + text(tensor.element, tensor.extents) + " and has to be " +
                    text(slot.element, slot.extents) + ", the part of " + to_string(slot.type) +
                    " that this rank has: make it with Plan::input()");
  if (!same_placement(tensor.type, slot.type, mesh))
    throw PlanError(where() + " is sharded as " + to_string(tensor.type) +
                    ", but the plan expects " + to_string(slot.type) +
                    ": reshard it with a plan, or make it with Plan::input()");
}

void require_finite(const LocalTensor& tensor, const std::function<std::string()>& where) {
  const bool real = is_float(tensor.type.dtype);
  const int64_t count = real ? tensor.count() : 0;  // integers are always finite
  for (int64_t i = 0; i < count; ++i)
    if (const double x = number_at(tensor.element, tensor.buffer.data(), i); !std::isfinite(x)) {
      std::vector<int64_t> index;
      for (int64_t stride : row_major(tensor.extents)) {
        index.push_back(i / stride % tensor.extents[index.size()]);
      }
      throw PlanError(where() + " is " + std::to_string(x) + " at entry " + list(index) +
                      " of this rank's part: look for it where the tensor was read or computed");
    }
}

void require_world(const Communicator& communicator, const Mesh& mesh, int64_t rank) {
  if (communicator.size() != mesh.ranks() || communicator.rank() != rank)
    throw PlanError("the plan is for rank " + std::to_string(rank) + " of " +
                    std::to_string(mesh.ranks()) + " (" + mesh.text() + "), and this is rank " +
                    std::to_string(communicator.rank()) + " of " +
                    std::to_string(communicator.size()) +
                    ": start as many ranks as the mesh has, and make each rank's plan for it");
}

}  // namespace

void Plan::State::require_fits(const LocalTensor& tensor, size_t input) const {
  const auto where = [&] { return "rank " + std::to_string(rank) + ": " + inputs.at(input).name; };
  shardproof::require_fits(tensor, inputs[input], mesh, where);
  if (check_finite) require_finite(tensor, where);
}

std::string Plan::State::broken_by(const LocalTensor& tensor, size_t input) const {
  for (const plan::AssumedInput& each : assumed)
    if (each.input() == input)
      if (std::string text = each.broken(tensor); !text.empty()) return text;
  return "";
}

void Plan::State::require_assumed(Communicator& communicator,
                                  const std::vector<std::string>& broken) const {
  if (assumed.empty()) return;
  const auto first = std::find_if(broken.begin(), broken.end(),
                                  [](const std::string& text) { return !text.empty(); });
  const std::string mine =
      first == broken.end() ? "" : "rank " + std::to_string(rank) + ": " + *first;
  for (const std::string& each : gather_texts(communicator, mine, "what " + name + " assumes"))
    if (!each.empty()) throw PlanError(each);
}

void Plan::State::require_kept_assumed(Communicator& communicator) {
  if (device->is_host())
    require_assumed(communicator, broken);
  else
    require_assumed(*staged(communicator, *device, queue()), broken);
}

// --- steps ---

void Plan::State::run_one(const Step& step, StepContext& context,
                          std::map<std::string, OpTime>& into) {
  using Clock = std::chrono::steady_clock;
  const auto begin = measured ? Clock::now() : Clock::time_point();
  try {
    context.queue->set_place(&step.place);
    if (!step.is_kernel()) context.communicator->use(*context.queue);
    step.run(step, context);
    if (measured) context.queue->finish();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw PlanError("rank " + std::to_string(rank) + ": " + step.place + ": " + error.what());
  }
  if (measured) {
    const auto end = Clock::now();
    OpTime& time = into[by_place ? step.op + "  " + step.place : step.op];
    ++time.calls;
    time.seconds += std::chrono::duration<double>(end - begin).count();
    const auto since = [](Clock::time_point at) {
      return std::chrono::nanoseconds(at.time_since_epoch()).count();
    };
    if (&into == &times) note(step.turn, since(begin), since(end));
  }
}

void Plan::State::note(size_t turn, int64_t begin, int64_t end) {
  const auto work = works.find(turn);
  if (work != works.end()) {
    if (turn == timed && !timeline.empty())
      timeline.back().end = end;
    else
      timeline.push_back({work->second, begin, end});
  }
  timed = turn;
}

void Plan::State::run_on_host(const std::vector<Step>& some, StepContext& context) {
  std::map<std::string, OpTime> beside;  // of the communication thread
  plan::HostRunner runner(
      context, [&](const Step& step) { run_one(step, context, times); },
      [&](const Step& step) { run_one(step, context, beside); });
  plan::walk(some, runner);
  for (const auto& [op, time] : beside) {
    times[op + " beside"].calls += time.calls;
    times[op + " beside"].seconds += time.seconds;
  }
  if (!beside.empty()) times["wait"].seconds += runner.waited();
}

void Plan::State::run_steps(const std::vector<Step>& some, StepContext& context) {
  if (device->is_host()) return run_on_host(some, context);
  plan::DeviceRunner runner(context, queues,
                            [&](const Step& step) { run_one(step, context, times); });
  plan::walk(some, runner);
}

bool Plan::State::in_stages() const {
  return std::any_of(group_axes.begin(), group_axes.end(),
                     [](const std::vector<Axis>& axes) { return axes.empty(); });
}

std::vector<std::vector<int>> Plan::State::all_groups() const {
  std::vector<std::vector<int>> all;
  if (in_stages()) return all;  // each stage has other groups: created when they meet
  for (const std::vector<Axis>& axes : group_axes)
    for (std::vector<int>& ranks : mesh.groups(axes)) all.push_back(std::move(ranks));
  return all;
}

std::vector<std::vector<int>> Plan::groups() const { return state_->all_groups(); }

StepContext Plan::State::context(Communicator& communicator) {
  require_world(communicator, mesh, rank);
  if (device->is_host() && !communicator.any_thread() && plan::has_starts(steps))
    throw PlanError(
        "the plan overlaps, and its communicator takes calls from one thread only: "
        "initialize MPI with MPI_THREAD_SERIALIZED, or compile without overlap");
  // Creates all groups now, while no rank waits and nothing is recorded.
  if (prepared_for != &communicator && !groups.empty() && !communicator.in_one_process())
    communicator.prepare(all_groups());
  prepared_for = &communicator;
  StepContext context;
  context.communicator = &communicator;
  context.queue = &queue();
  context.loops.resize(loops);
  for (const plan::Piece& piece : pieces) context.buffers.push_back(arena->data() + piece.offset);
  for (const plan::BufferId id : constant_buffers)
    context.buffers[id] = constants.data() + pieces[id].offset;
  for (const std::vector<int>& ranks : groups) context.groups.push_back(&communicator.group(ranks));
  return context;
}

std::string Plan::State::calls_text() const {
  uint64_t hash = plan::hash_of_sizes(inputs, outputs);
  // The stages of a pipeline make different calls, but all follow one schedule.
  if (!in_stages()) hash = plan::hash_of_calls(steps, groups, hash);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return "begins " + name + " on " + mesh.text() + " (its sizes and calls hash to " + digits + ")";
}

void Plan::State::run(Communicator& communicator, StepContext& context) {
  if (calls.empty() && !communicator.in_one_process()) calls = calls_text();
  const CallSequence sequence(communicator, calls);
  timeline.clear();
  run_steps(steps, context);
}

bool Plan::State::is_same(const LocalTensor& tensor, size_t input) const {
  return constant.at(input) && read_from.at(input) == tensor.buffer.data();
}

void Plan::State::note_input(const LocalTensor& tensor, size_t input) {
  if (!constant.at(input)) return;
  has_constants = has_constants && is_same(tensor, input);
  read_from[input] = tensor.buffer.data();
}

void Plan::State::make_constants(StepContext& context) {
  if (has_constants) return;
  if (!first.empty()) run_steps(first, context);
  has_constants = true;
}

void Plan::reread_constant() {
  state_->has_constants = false;
  std::fill(state_->read_from.begin(), state_->read_from.end(), nullptr);
}

void Plan::State::record(Communicator& communicator, StepContext& context) {
  const auto work = [&] { run(communicator, context); };
  if (groups.empty())
    graph = device->record(queue(), work);
  else
    graph = communicator.record(*device, queue(), work);
}

// --- tensors of the caller ---

std::vector<LocalTensor> Plan::run(Communicator& communicator,
                                   const std::vector<const LocalTensor*>& inputs) {
  return run_into(communicator, inputs, std::vector<LocalTensor*>(outputs().size()));
}

std::vector<LocalTensor> Plan::run_into(Communicator& communicator,
                                        const std::vector<const LocalTensor*>& inputs,
                                        const std::vector<LocalTensor*>& results) {
  State& state = *state_;
  require_world(communicator, state.mesh, state.rank);
  state.require_number(inputs.size());
  if (results.size() != state.outputs.size())
    throw PlanError("the plan has " + std::to_string(state.outputs.size()) + " results, not " +
                    std::to_string(results.size()) + ": one for each of Plan::outputs()");
  for (size_t i = 0; i < results.size(); ++i)
    if (const Slot& slot = state.outputs[i];
        results[i] && (results[i]->element != slot.element || results[i]->extents != slot.extents))
      throw PlanError("the memory for result " + slot.name + " is of another element or size");
  if (state.device->is_host() && !state.overwrites_inputs())
    return state.run_on(communicator, inputs, results);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!state.is_same(*inputs[i], i)) keep(i, *inputs[i]);
  run_kept(communicator);
  std::vector<LocalTensor> made(state.outputs.size());
  for (size_t i = 0; i < made.size(); ++i) {
    if (results.at(i))
      state.copy_kept(state.kept_result(i), *results[i]);
    else
      made[i] = kept_output(i);
  }
  return made;
}

std::vector<LocalTensor> Plan::update(Communicator& communicator,
                                      std::vector<LocalTensor>& tensors) {
  State& state = *state_;
  if (!state.device->is_host())
    throw PlanError("update() is for the host's memory: on a device, call run_kept()");
  require_world(communicator, state.mesh, state.rank);
  state.require_number(tensors.size());
  std::vector<const LocalTensor*> inputs;
  for (const LocalTensor& each : tensors) inputs.push_back(&each);
  std::vector<LocalTensor*> results(state.outputs.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (const std::optional<size_t> input = state.kept_in(i)) results[i] = &tensors[*input];
  return state.run_on(communicator, inputs, results);
}

void Plan::State::require_number(size_t given) const {
  if (given != inputs.size())
    throw PlanError("the plan takes " + std::to_string(inputs.size()) + " tensors, not " +
                    std::to_string(given) + ": one for each of Plan::inputs()");
}

std::vector<LocalTensor> Plan::State::run_on(Communicator& communicator,
                                             const std::vector<const LocalTensor*>& tensors,
                                             const std::vector<LocalTensor*>& results) {
  StepContext context = this->context(communicator);
  for (size_t i = 0; i < tensors.size(); ++i) {
    require_fits(*tensors[i], i);
    note_input(*tensors[i], i);
    context.buffers[input_buffers[i]] = tensors[i]->buffer.data();
  }
  if (!assumed.empty()) {
    std::vector<std::string> found;
    for (size_t i = 0; i < tensors.size(); ++i) found.push_back(broken_by(*tensors[i], i));
    require_assumed(communicator, found);
  }
  if (!result_memory) {
    size_t bytes = 0;
    for (const Slot& slot : outputs) bytes += slot.bytes();
    result_memory.emplace(bytes);
  }
  std::vector<LocalTensor> made(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!results.at(i)) {
      const Slot& slot = outputs[i];
      made[i].type = slot.type;
      made[i].element = slot.element;
      made[i].extents = slot.extents;
      made[i].buffer = result_memory->take(slot.bytes());
    }
    context.buffers[output_buffers[i]] = (results[i] ? *results[i] : made[i]).buffer.data();
  }
  make_constants(context);
  run(communicator, context);
  return made;
}

std::vector<LocalTensor> Plan::run(Communicator& communicator,
                                   const std::vector<LocalTensor>& inputs) {
  std::vector<const LocalTensor*> pointers;
  for (const LocalTensor& each : inputs) pointers.push_back(&each);
  return run(communicator, pointers);
}

// --- tensors that stay ---

size_t Slot::bytes() const {
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  return static_cast<size_t>(count) * size_of(element);
}

/// The resident input whose memory result i uses, if it has no memory of its own.
std::optional<size_t> Plan::State::kept_in(size_t output) const {
  plan::BufferId buffer = output_buffers.at(output);
  for (const auto& [kept, made] : same)
    if (made == buffer) buffer = kept;
  for (size_t i = 0; i < input_buffers.size(); ++i)
    if (input_buffers[i] == buffer) return i;
  return std::nullopt;
}

bool Plan::State::overwrites_inputs() const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (kept_in(i)) return true;
  return false;
}

void Plan::State::allocate_kept() {
  if (!kept_inputs.empty() || !kept_outputs.empty()) return;
  for (const Slot& slot : inputs) kept_inputs.push_back(device->allocate(slot.bytes()));
  lent.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    kept_outputs.push_back(kept_in(i) || lent[i] ? Buffer() : device->allocate(outputs[i].bytes()));
  has_input.resize(inputs.size());
}

std::byte* Plan::State::kept_result(size_t output) {
  if (lent.at(output)) return lent[output];
  const std::optional<size_t> input = kept_in(output);
  return (input ? kept_inputs.at(*input) : kept_outputs.at(output)).data();
}

void Plan::keep(size_t i, const LocalTensor& tensor) {
  State& state = *state_;
  state.require_fits(tensor, i);
  state.broken.resize(state.inputs.size());
  state.broken[i] = state.broken_by(tensor, i);
  state.allocate_kept();
  state.device->copy_from_host(state.queue(), state.kept_inputs.at(i).data(), tensor.buffer.data(),
                               tensor.buffer.bytes());
  state.has_input[i] = true;
  state.has_constants = state.has_constants && !state.constant[i];
  state.note_input(tensor, i);
}

void Plan::keep_zeros(size_t i) {
  State& state = *state_;
  state.allocate_kept();
  void* data = state.kept_inputs.at(i).data();
  state.device->prepare(Zero{state.inputs[i].bytes()})(state.queue(), {&data, 1}, {});
  state.has_input[i] = true;
  if (state.constant[i]) reread_constant();
}

void Plan::make_kept(size_t output, Plan& other, size_t input) {
  State &state = *state_, &to = *other.state_;
  const Slot &made = state.outputs.at(output), &slot = to.inputs.at(input);
  if (state.device != to.device || made.element != slot.element || made.extents != slot.extents ||
      state.kept_in(output) || !state.kept_inputs.empty() || to.constant.at(input))
    throw PlanError(made.name + " cannot use the memory of " + slot.name +
                    ": both need one element, one size and one device, no run before, and no "
                    "input that PlanOptions::constant names");
  to.allocate_kept();
  state.lent.resize(state.outputs.size());
  state.lent[output] = to.kept_inputs[input].data();
  to.has_input[input] = true;
}

void Plan::finish() {
  State& state = *state_;
  try {
    for (const auto& queue : state.queues) queue->finish();
  } catch (const DeviceError& error) {
    throw PlanError("rank " + std::to_string(state.rank) + ": " + error.what());
  }
}

void Plan::run_kept(Communicator& communicator) {
  State& state = *state_;
  state.allocate_kept();
  for (size_t i = 0; i < state.inputs.size(); ++i)
    if (!state.has_input[i])
      throw PlanError(state.inputs[i].name + " was not set: call Plan::keep() first");
  state.require_kept_assumed(communicator);
  if (state.prepared_for != &communicator) {
    state.graph.reset();
    state.kept_runs = 0;
  }
  if (state.graph && !state.measured && state.has_constants) {
    require_world(communicator, state.mesh, state.rank);
    state.graph->run(state.queue());
    return communicator.require_alive();
  }
  StepContext context = state.context(communicator);
  for (size_t i = 0; i < state.inputs.size(); ++i)
    context.buffers[state.input_buffers[i]] = state.kept_inputs[i].data();
  for (size_t i = 0; i < state.outputs.size(); ++i)
    context.buffers[state.output_buffers[i]] = state.kept_result(i);
  state.make_constants(context);
  // The first run initializes libraries; the second one is recorded.
  if (state.kept_runs++ == 1 && !state.measured) state.record(communicator, context);
  if (state.graph && !state.measured)
    state.graph->run(state.queue());
  else
    state.run(communicator, context);
  communicator.require_alive();
}

LocalTensor Plan::kept_output(size_t i) {
  State& state = *state_;
  const Slot& slot = state.outputs.at(i);
  LocalTensor tensor(slot.type, slot.element, slot.extents);
  state.copy_kept(state.kept_result(i), tensor);
  return tensor;
}

void Plan::State::copy_kept(const std::byte* from, LocalTensor& to) {
  try {
    device->copy_to_host(queue(), to.buffer.data(), from, to.buffer.bytes());
  } catch (const DeviceError& error) {
    throw PlanError("rank " + std::to_string(rank) + ": " + error.what());
  }
}

void Plan::fetch_kept(size_t input, LocalTensor& to) {
  state_->require_fits(to, input);
  state_->copy_kept(state_->kept_inputs.at(input).data(), to);
}

size_t Plan::bytes() const {
  size_t bytes = state_->arena_bytes + state_->constants.bytes();
  for (const Slot& slot : state_->inputs) bytes += slot.bytes();
  for (size_t i = 0; i < state_->outputs.size(); ++i)
    if (!state_->kept_in(i)) bytes += state_->outputs[i].bytes();
  return bytes;
}

}  // namespace shardproof
