#pragma once
// A training run on one rank: one plan draws the state, another computes a step; data have names.
#include <functional>
#include <memory>

#include "impl/checkpoint/checkpoint.h"
#include "impl/compile/compile_plan.h"
#include "impl/data/batches.h"
#include "impl/train_step/roles.h"

namespace shardproof {

/// A run that cannot continue. The message names the step or the parameter.
class TrainError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TrainerOptions {
  Name step = {}, init = {};  ///< plans; empty: the only candidates, see roles_of() and init_of()
  uint64_t seed = 0;
  Precision precision = Precision::as_written;
  std::vector<Name> accept_unknown = {};  ///< plans that may run with the verdict unknown
  bool require_finite = true;             ///< throw TrainError if a metric is NaN or infinite
  bool overlap = false;                   ///< see PlanOptions
  /// Holds the state and runs the steps; null: this processor. Communication buffers are on it too.
  std::shared_ptr<Device> device = {};
};

/// A scalar result of a step that is not part of the state.
struct Metric {
  Name name;
  double value;
};

struct StepReport {
  int64_t step = 0;  ///< from 1
  double learning_rate = 0, seconds = 0;
  std::vector<Metric> metrics;
};

/// One rank's part of a run. Every rank constructs one and makes the same calls in the same order.
/// The program and the communicator must outlive it.
class Trainer {
 public:
  /// Collective: compiles the step and prepares its groups. Throws PlanError if the plan cannot be
  /// compiled, or if the role of a parameter is not clear.
  Trainer(const Program& program, const Mesh& mesh, const DimSizes& dims,
          Communicator& communicator, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  /// Runs the plan that draws the first state; state that it does not return is zero. Throws
  /// PlanError if the program has no such plan.
  void init();
  /// Trains one step on the batch. Throws TrainError, PlanError, CommError, what Batches throws.
  const StepReport& step(Batches& batches, double learning_rate);
  int64_t steps() const;  ///< taken so far, including those before a resume

  /// Runs another plan on the state and a batch, and changes neither. Parameters are matched by
  /// name.
  std::vector<LocalTensor> run(const Name& plan, Batches& batches);
  /// A plan of another program of this mesh, compiled for this rank as the step is. `constant`: see
  /// PlanOptions.
  Plan compile(const Program& program, const Name& plan, const DimSizes& dims,
               const std::vector<size_t>& constant = {}) const;
  /// Runs such a plan.
  std::vector<LocalTensor> run(Plan& plan, const std::vector<const LocalTensor*>& inputs);
  /// Collective: a scalar result of `run`, reduced over the ranks (U: sum, Max: maximum).
  double value(const LocalTensor& scalar);

  /// This rank's part of the state, on the host, with the step's names and types. Valid until the
  /// next step, which uses what the caller wrote there.
  std::vector<checkpoint::Leaf> state();
  /// Call after filling state(): the run continues as after `steps` steps.
  void resume(int64_t steps);
  /// Collective: gives the state and `values` to the saver, which writes them while training
  /// continues.
  void save(checkpoint::Saver& saver, std::map<std::string, std::string> values = {});
  /// Collective: loads the state and step of a checkpoint, saved on any mesh. Throws FileError.
  checkpoint::Position load(const std::filesystem::path& checkpoint);

  /// Called after each step, on each rank.
  void on_step(std::function<void(const StepReport&)> hook);

  const StepRoles& roles() const;
  const Program& program() const;
  const Placement& placement() const;
  const DimSizes& dims() const;
  Communicator& communicator() const;  ///< for buffers on the host
  const Plan& step_plan() const;
  /// Turns the measurement of the step's ops on or off, see Plan::measure().
  void measure_step(bool on);
  /// Bytes of memory of this rank: state, data, and the arena of each plan.
  size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardproof
