#pragma once
// A plan that was compiled for one mesh and one rank, and is run as often as wanted.
#include <map>
#include <optional>

#include "impl/comm/communicator.h"
#include "impl/device/device.h"
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"

namespace shardproof {
namespace plan {
struct Step;
}
namespace schedule {
struct Timed;
}

/// A parameter or a result.
struct Slot {
  Name name;  ///< of the leaf: "w.attn.q"
  Type type;
  Element element;
  std::vector<int64_t> extents;  ///< local
  size_t bytes() const;
};

/// Time spent in the steps of one op, over all runs.
struct OpTime {
  int64_t calls = 0;
  double seconds = 0;
};

class Plan {
 public:
  struct State;  ///< impl/run/plan_state.h, which is not installed
  explicit Plan(std::unique_ptr<State> state);
  ~Plan();
  Plan(Plan&&) noexcept;

  const std::vector<Slot>& inputs() const;  ///< the leaves of the parameters, then saved ones
  const std::vector<Slot>& outputs() const;
  size_t arena_bytes() const;                    ///< of all values between inputs and outputs
  const std::vector<plan::Step>& steps() const;  ///< impl/plan/steps.h, which is not installed
  std::string text() const;                      ///< steps, buffers and groups, for a reader
  std::string commands_text() const;             ///< what a device's queues get, loops twice
  const State& state() const { return *state_; }
  /// The groups of all ranks that a run uses, for Communicator::prepare(); the first run says them.
  std::vector<std::vector<int>> groups() const;

  /// A tensor of the host for slot i of the inputs, not initialised.
  Tensor input(size_t i) const;

  /// Runs on this rank, together with every other rank of the mesh; tensors are the host's, on
  /// whatever device the plan runs. Throws PlanError naming the tensor that does not fit, or place
  /// and rank of a step that fails; CommError as the communicator does. Where comparing calls costs
  /// (MPI) the first of each group is compared, with a hash of all of the plan's.
  std::vector<Tensor> run(Communicator& communicator, const std::vector<const Tensor*>& inputs);
  std::vector<Tensor> run(Communicator& communicator, const std::vector<Tensor>& inputs);

  // Tensors that the plan keeps, in its device's memory, from run to run: nothing is allocated in a
  // step, and a device that can is given the whole step at once.
  /// Input i becomes `tensor`.
  void keep(size_t i, const Tensor& tensor);
  /// Input i becomes zeros, without a tensor of the host.
  void keep_zeros(size_t i);
  /// From now on result `output` of run_kept() is made where `other`, a plan of the same device,
  /// keeps its input, which has then been given: no copy, and no memory for both. `other` may run
  /// when this plan has finish()ed.
  void make_kept(size_t output, Plan& other, size_t input);
  /// Returns when all runs have ended. Throws PlanError for what went wrong in them.
  void finish();
  /// A run on the kept inputs. Throws PlanError where one has not been given.
  void run_kept(Communicator& communicator);
  /// What is kept, as tensors of the host.
  void fetch_kept(size_t input, Tensor& to);
  Tensor kept_output(size_t i);
  /// Memory of the device for a run: arena, inputs, and results that take no input's place.
  size_t bytes() const;

  /// Measures each op from now on; with overlap those of the communication thread as "all_gather
  /// beside", and "wait" for it.
  void measure(bool on);
  const std::map<std::string, OpTime>& times() const;
  /// The axis of the stages, where this rank is one of a pipeline's.
  const std::optional<Axis>& stage_axis() const;
  /// The F, B and W of its stage in the last run that was measured, in nanoseconds of the steady
  /// clock; without the messages between stages. Of one that passes split there are several.
  const std::vector<schedule::Timed>& timeline() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace shardproof
