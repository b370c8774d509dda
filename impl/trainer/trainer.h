#pragma once
// A training run on one rank: state that a plan draws, steps that a plan takes, data by name.
#include <functional>
#include <memory>

#include "impl/checkpoint/checkpoint.h"
#include "impl/compile/compile_plan.h"
#include "impl/data/batches.h"
#include "impl/train_step/roles.h"

namespace shardproof {

/// A run that cannot go on; it names the step, or the parameter.
class TrainError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TrainerOptions {
  Name step = {},
       init = {};  ///< plans; empty: the only ones, as roles_of() and init_of() find them
  uint64_t seed = 0;
  Precision precision = Precision::as_written;
  std::vector<Name> accept_unknown = {};  ///< plans that are run though they are not decided
  bool require_finite = true;             ///< a metric that is none ends the run with TrainError
  bool overlap = false;                   ///< as of PlanOptions
  /// Where the state is and steps run; none: this processor. The communicator's buffers are its.
  std::shared_ptr<Device> device = {};
};

/// A result of a step that is no state: a number.
struct Metric {
  Name name;
  double value;
};

struct StepReport {
  int64_t step = 0;  ///< from 1
  double learning_rate = 0, seconds = 0;
  std::vector<Metric> metrics;
};

/// One rank's part of a run. Every rank makes one, and makes the same calls in the same order. The
/// program and the communicator outlive it.
class Trainer {
 public:
  /// Compiles the step, and prepares the groups that it uses: collective. Throws PlanError as Plan
  /// does, and where a parameter's use is not known.
  Trainer(const Program& program, const Mesh& mesh, const DimSizes& dims,
          Communicator& communicator, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  /// Runs the plan that draws the first state; what it does not give is zero. Throws PlanError
  /// where there is none.
  void init();
  /// Takes a step with the batch. Throws TrainError, PlanError, CommError, and what filling throws.
  const StepReport& step(Batches& batches, double learning_rate);
  int64_t steps() const;  ///< taken so far, those before a resume too

  /// Runs another plan on the state and a batch, without changing either: parameters are found by
  /// name.
  std::vector<Tensor> run(const Name& plan, Batches& batches);
  /// A plan of another program of this mesh, compiled for this rank as the step is.
  Plan compile(const Program& program, const Name& plan, const DimSizes& dims) const;
  /// Runs such a plan.
  std::vector<Tensor> run(Plan& plan, const std::vector<const Tensor*>& inputs);
  /// The scalar that `run` gave, added up (U) or compared (Max) over the ranks. Collective.
  double value(const Tensor& scalar);

  /// This rank's part of the state, on the host; the names and types are the step's. Valid until
  /// the next step, which takes what was written there.
  std::vector<checkpoint::Leaf> state();
  /// The state was filled, and is that after so many steps.
  void resume(int64_t steps);
  /// Collective: hands the state to the saver, which writes it beside the steps that follow;
  /// `values` go with it.
  void save(checkpoint::Saver& saver, std::map<std::string, std::string> values = {});
  /// Collective: the state and the number of steps of a checkpoint, of any mesh. Throws FileError.
  checkpoint::Position load(const std::filesystem::path& checkpoint);

  /// Called after each step, on each rank.
  void on_step(std::function<void(const StepReport&)> hook);

  const StepRoles& roles() const;
  const Program& program() const;
  const Placement& placement() const;
  const DimSizes& dims() const;
  Communicator& communicator() const;  ///< of buffers of the host
  const Plan& step_plan() const;
  /// Whether the step's ops are measured, see Plan::measure().
  void measure_step(bool on);
  /// Memory of this rank: state, data, and what lies between inputs and outputs of each plan.
  size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardproof
