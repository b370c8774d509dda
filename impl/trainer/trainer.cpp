#include "impl/trainer/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include "impl/comm/staged/staged.h"
#include "impl/train_step/on_gpu.h"
#include "impl/train_step/stacked.h"
#include "impl/train_step/state_in_place.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof {

struct Trainer::State {
  State(const Program& of, const Mesh& on, const DimSizes& sizes, Communicator& between,
        const TrainerOptions& how)
      : program(of),
        mesh(on),
        dims(sizes),
        ranks(between),
        options(how),
        staging(uses_device() ? options.device->queue() : nullptr),
        staging_ranks(staging ? staged(ranks, *options.device, *staging) : nullptr),
        communicator(staging ? *staging_ranks : ranks),
        roles(roles_of(program, options.step)),
        placement(program.checked().program(), mesh, dims, ranks.rank()) {}

  const Program& program;
  Mesh mesh;
  DimSizes dims;
  Communicator& ranks;  ///< used by plans
  TrainerOptions options;
  std::unique_ptr<Queue> staging;
  std::unique_ptr<Communicator> staging_ranks;
  Communicator& communicator;  ///< for host buffers
  StepRoles roles;
  Placement placement;
  std::map<Name, Plan> plans;
  Plan* step = nullptr;
  std::vector<LocalTensor> inputs;  ///< of the step: state, data and the rest
  std::shared_ptr<Buffer> arena = std::make_shared<Buffer>();  ///< of all plans on the host
  bool on_host = true, on_device = false;                      ///< where the newest state is
  int64_t steps = 0;
  StepReport report;
  std::vector<std::function<void(const StepReport&)>> hooks;

  PlanOptions plan_options(const Name& name) const;
  Plan& plan(const Name& name);
  Name name_of(size_t function) const {
    return program.checked().program().functions.at(function).name;
  }
  bool uses_device() const { return options.device && !options.device->is_host(); }
  void fetch();
  void send();
  std::vector<LocalTensor> take_step();
  std::vector<checkpoint::Leaf> leaves();
  const LocalTensor* state_leaf(const Name& name) const;
  void feed(Batches& batches, double learning_rate);
  std::vector<Axis> marked(const Marks& marks, Mark mark) const;
  void prepare_groups();
  double reduced(double value, const Marks& marks, Mark mark, Reduction reduction);
  double value(const LocalTensor& scalar);
  void read_metrics(const std::vector<LocalTensor>& results);
};

PlanOptions Trainer::State::plan_options(const Name& name) const {
  PlanOptions how;
  how.precision = options.precision;
  how.overlap = options.overlap;
  how.device = options.device;
  how.arena = arena;
  how.accept_unknown = std::find(options.accept_unknown.begin(), options.accept_unknown.end(),
                                 name) != options.accept_unknown.end();
  return how;
}

Plan& Trainer::State::plan(const Name& name) {
  if (auto found = plans.find(name); found != plans.end()) return found->second;
  PlanOptions how = plan_options(name);
  const bool is_step = name == name_of(roles.step);
  if (uses_device())
    how = on_gpu(how, is_step ? &roles : nullptr);
  else if (is_step)
    how = state_in_place(how, roles);
  return plans.emplace(name, compile_plan(program, name, mesh, dims, ranks.rank(), how))
      .first->second;
}

/// Copies the state from the device to the host.
void Trainer::State::fetch() {
  if (on_host) return;
  for (const StateGroup& group : roles.state)
    for (size_t i = group.param; i < group.param + group.count; ++i) step->fetch_kept(i, inputs[i]);
  on_host = true;
}

void Trainer::State::send() {
  if (on_device) return;
  for (const StateGroup& group : roles.state)
    for (size_t i = group.param; i < group.param + group.count; ++i) step->keep(i, inputs[i]);
  on_device = true;
}

/// Creates the groups of a step, and those for its metrics.
void Trainer::State::prepare_groups() {
  std::vector<std::vector<int>> groups = step->groups();
  for (size_t leaf : roles.metrics)
    for (Mark mark : {Mark::U, Mark::Max})
      for (auto& ranks : mesh.groups(marked(step->outputs()[leaf].type.marks, mark)))
        if (ranks.size() > 1) groups.push_back(std::move(ranks));
  if (!groups.empty()) ranks.prepare(groups);
}

Trainer::Trainer(const Program& program, const Mesh& mesh, const DimSizes& dims,
                 Communicator& communicator, const TrainerOptions& options)
    : state_(new State(program, mesh, dims, communicator, options)) {
  State& own = *state_;
  own.step = &own.plan(own.name_of(own.roles.step));
  for (size_t i = 0; i < own.step->inputs().size(); ++i) {
    own.inputs.push_back(own.step->input(i));
    if (own.inputs[i].buffer.bytes())
      std::memset(own.inputs[i].buffer.data(), 0, own.inputs[i].buffer.bytes());
  }
  own.prepare_groups();
}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

int64_t Trainer::steps() const { return state_->steps; }
const StepRoles& Trainer::roles() const { return state_->roles; }
const Program& Trainer::program() const { return state_->program; }
const DimSizes& Trainer::dims() const { return state_->dims; }
const Placement& Trainer::placement() const { return state_->placement; }
Communicator& Trainer::communicator() const { return state_->communicator; }
void Trainer::measure_step(bool on) { state_->step->measure(on); }

const Plan& Trainer::step_plan() const { return *state_->step; }
void Trainer::resume(int64_t steps) { state_->steps = steps; }
void Trainer::on_step(std::function<void(const StepReport&)> hook) {
  state_->hooks.push_back(std::move(hook));
}
double Trainer::value(const LocalTensor& scalar) { return state_->value(scalar); }

namespace {

void set_key(LocalTensor& to, uint64_t key) { *to.data<uint64_t>() = key; }

}  // namespace

void Trainer::init() {
  State& own = *state_;
  const InitRoles init = init_of(own.program, own.roles, own.options.init);
  for (const checkpoint::Leaf& leaf : state())
    if (leaf.tensor->buffer.bytes())
      std::memset(leaf.tensor->buffer.data(), 0, leaf.tensor->buffer.bytes());
  const Name name = own.name_of(init.plan);
  Plan& plan = own.plan(name);
  LocalTensor key = plan.input(0);
  set_key(key, philox_fold(own.options.seed, "init"));
  std::vector<LocalTensor*> results;
  for (size_t group : init.groups)
    for (size_t i = 0; i < own.roles.state[group].count; ++i)
      results.push_back(&own.inputs.at(own.roles.state[group].param + i));
  plan.run_into(own.ranks, {&key}, results);
  own.plans.erase(name);  // frees its memory
  own.steps = 0;
}

const LocalTensor* Trainer::State::state_leaf(const Name& name) const {
  for (const StateGroup& group : roles.state)
    for (size_t i = group.param; i < group.param + group.count; ++i)
      if (step->inputs()[i].name == name) return &inputs[i];
  return nullptr;
}

void Trainer::State::feed(Batches& batches, double learning_rate) {
  const std::vector<Slot>& slots = step->inputs();
  for (size_t leaf : roles.data) batches.require_knows(slots[leaf].name, name_of(roles.step));
  for (size_t leaf : roles.data) batches.fill(slots[leaf].name, placement, inputs[leaf]);
  for (size_t leaf : roles.keys)
    set_key(inputs[leaf],
            philox_fold(philox_fold(options.seed, slots[leaf].name), static_cast<uint64_t>(steps)));
  const auto set = [&](const std::optional<size_t>& leaf, double value) {
    if (leaf) set_number(inputs[*leaf].element, inputs[*leaf].buffer.data(), 0, value);
  };
  set(roles.number, static_cast<double>(steps + 1));
  set(roles.learning_rate, learning_rate);
}

std::vector<Axis> Trainer::State::marked(const Marks& marks, Mark mark) const {
  std::vector<Axis> axes;
  for (const auto& [axis, each] : marks)
    if (each == mark && mesh.size(axis) > 1) axes.push_back(axis);
  return axes;
}

double Trainer::State::reduced(double value, const Marks& marks, Mark mark, Reduction reduction) {
  const std::vector<Axis> axes = marked(marks, mark);
  if (axes.empty()) return value;
  double whole = 0;
  communicator.all_reduce(communicator.group(mesh.along(communicator.rank(), axes)), &value, &whole,
                          1, Element::f64, reduction, "metric");
  return whole;
}

double Trainer::State::value(const LocalTensor& scalar) {
  if (scalar.count() != 1 || scalar.element == Element::u64)
    throw TrainError("a metric of type " + to_string(scalar.type) + " is not a number");
  const double own = number_at(scalar.element, scalar.buffer.data(), 0);
  return reduced(reduced(own, scalar.type.marks, Mark::U, Reduction::sum), scalar.type.marks,
                 Mark::Max, Reduction::max);
}

void Trainer::State::read_metrics(const std::vector<LocalTensor>& results) {
  report.metrics.clear();
  for (size_t leaf : roles.metrics) {
    const Slot& slot = step->outputs()[leaf];
    if (!slot.type.dims.empty() || slot.element == Element::u64) continue;
    const double value = this->value(results[leaf]);
    report.metrics.push_back({slot.name, value});
    if (options.require_finite && !std::isfinite(value))
      throw TrainError("step " + std::to_string(report.step) + ": " + slot.name + " is " +
                       (std::isnan(value) ? "nan"
                        : value > 0       ? "inf"
                                          : "-inf") +
                       ": lower the learning rate, clip gradients, or go back to a checkpoint");
  }
}

/// The step's results but for the new state, which replaces the old one.
std::vector<LocalTensor> Trainer::State::take_step() {
  if (uses_device()) {
    send();
    std::vector<size_t> given = roles.data;
    given.insert(given.end(), roles.keys.begin(), roles.keys.end());
    for (const std::optional<size_t>& leaf : {roles.number, roles.learning_rate})
      if (leaf) given.push_back(*leaf);
    for (size_t leaf : given) step->keep(leaf, inputs[leaf]);
    on_host = false;
    step->run_kept(ranks);
    std::vector<LocalTensor> results(step->outputs().size());
    for (size_t leaf : roles.metrics) results[leaf] = step->kept_output(leaf);
    return results;
  }
  return step->update(ranks, inputs);
}

const StepReport& Trainer::step(Batches& batches, double learning_rate) {
  State& own = *state_;
  const auto begin = std::chrono::steady_clock::now();
  own.feed(batches, learning_rate);
  std::vector<LocalTensor> results = own.take_step();
  own.report.step = own.steps + 1;
  own.report.learning_rate = learning_rate;
  own.read_metrics(results);
  batches.next();
  ++own.steps;
  own.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const auto& hook : own.hooks) hook(own.report);
  return own.report;
}

std::vector<LocalTensor> Trainer::run(const Name& name, Batches& batches) {
  State& own = *state_;
  own.fetch();
  Plan& plan = own.plan(name);
  const std::vector<Slot>& slots = plan.inputs();
  std::vector<LocalTensor> data(slots.size());
  std::vector<const LocalTensor*> inputs;
  for (size_t i = 0; i < slots.size(); ++i) {
    const LocalTensor* state = own.state_leaf(slots[i].name);
    if (!state) {
      batches.require_knows(slots[i].name, name);
      data[i] = plan.input(i);
      batches.fill(slots[i].name, own.placement, data[i]);
    }
    inputs.push_back(state ? state : &data[i]);
  }
  return plan.run(own.ranks, inputs);
}

Plan Trainer::compile(const Program& program, const Name& plan, const DimSizes& dims,
                      const std::vector<size_t>& constant) const {
  const State& own = *state_;
  PlanOptions how = own.plan_options(plan);
  if (own.uses_device()) how = on_gpu(how, nullptr);
  how.constant = constant;
  return compile_plan(program, plan, own.mesh, dims, own.ranks.rank(), how);
}

std::vector<LocalTensor> Trainer::run(Plan& plan, const std::vector<const LocalTensor*>& inputs) {
  return plan.run(state_->ranks, inputs);
}

std::vector<checkpoint::Leaf> Trainer::State::leaves() {
  fetch();
  const std::vector<size_t> stacked =
      stacked_dims(program.checked().program().functions.at(roles.step));
  std::vector<checkpoint::Leaf> leaves;
  for (const StateGroup& group : roles.state)
    for (size_t i = group.param; i < group.param + group.count; ++i)
      leaves.push_back({step->inputs()[i].name, inputs[i].type, &inputs[i], stacked.at(i)});
  return leaves;
}

std::vector<checkpoint::Leaf> Trainer::state() {
  std::vector<checkpoint::Leaf> leaves = state_->leaves();
  state_->on_device = false;  // the caller may change it
  return leaves;
}

void Trainer::save(checkpoint::Saver& saver, std::map<std::string, std::string> values) {
  saver.save(state_->communicator, state_->mesh, state_->dims, state_->leaves(),
             {state_->steps, std::move(values)});
}

checkpoint::Position Trainer::load(const std::filesystem::path& checkpoint) {
  checkpoint::Position position =
      checkpoint::load(checkpoint, state_->communicator, state_->mesh, state_->dims, state());
  resume(position.step);
  return position;
}

size_t Trainer::bytes() const {
  const State& own = *state_;
  size_t bytes = own.uses_device() ? 0 : own.arena->bytes();
  for (const auto& [name, plan] : own.plans) {
    bytes += plan.bytes();
    if (own.uses_device()) continue;
    bytes -= plan.arena_bytes();
    if (&plan == own.step) continue;
    for (const Slot& slot : plan.inputs())  // plans share the state
      if (own.state_leaf(slot.name)) bytes -= slot.bytes();
  }
  return bytes;
}

}  // namespace shardproof
