#pragma once
// A plan, compiled for one rank of one mesh. It can run any number of times.
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

  const std::vector<Slot>& inputs() const;  ///< leaves of the parameters, then saved ones
  const std::vector<Slot>& outputs() const;
  size_t arena_bytes() const;                    ///< memory of all intermediate values
  const std::vector<plan::Step>& steps() const;  ///< impl/plan/steps.h, which is not installed
  std::string text() const;                      ///< steps, buffers and groups, for a reader
  std::string commands_text() const;  ///< the launches of a device's streams, loops unrolled twice
  const State& state() const { return *state_; }
  /// The groups of ranks that a run uses; the first run passes them to Communicator::prepare().
  std::vector<std::vector<int>> groups() const;

  /// An uninitialised host tensor with the type and extents of input i.
  LocalTensor input(size_t i) const;

  /// Runs this rank's part; every rank of the mesh must run its own. Inputs and results are host
  /// tensors, also if the plan runs on a device. Throws PlanError with the tensor that does not
  /// fit, or with the source location and rank of a failed step; CommError if ranks disagree.
  /// Processes compare a hash of the plan's sizes and calls before each run.
  std::vector<LocalTensor> run(Communicator& communicator,
                               const std::vector<const LocalTensor*>& inputs);
  std::vector<LocalTensor> run(Communicator& communicator, const std::vector<LocalTensor>& inputs);
  /// The same, with result i in *results[i], which fits it; a null gets a new tensor, in what is
  /// returned.
  std::vector<LocalTensor> run_into(Communicator& communicator,
                                    const std::vector<const LocalTensor*>& inputs,
                                    const std::vector<LocalTensor*>& results);
  /// The same on the host's memory: a result that PlanOptions::in_place pairs with an input
  /// overwrites that tensor, and is empty in what is returned. After an error in a step, these
  /// tensors hold no meaningful values.
  std::vector<LocalTensor> update(Communicator& communicator, std::vector<LocalTensor>& tensors);

  /// From the next run on, inputs that PlanOptions::constant names may have other entries.
  void reread_constant();

  // Resident tensors: they stay in the device's memory from run to run. A step allocates nothing,
  // and a GPU gets it as one graph.
  /// Copies `tensor` to the resident input i.
  void keep(size_t i, const LocalTensor& tensor);
  /// Fills the resident input i with zeros.
  void keep_zeros(size_t i);
  /// From now on run_kept() writes result `output` to the memory of a resident input of `other`, a
  /// plan on the same device: no copy, and no second buffer. `other` may run once this plan's
  /// finish() has returned.
  void make_kept(size_t output, Plan& other, size_t input);
  /// Waits for all runs. Throws PlanError if one failed.
  void finish();
  /// Runs on the resident inputs. Throws PlanError if one was not set, and on every rank if one
  /// rank's violates an assumption.
  void run_kept(Communicator& communicator);
  /// Copies of resident tensors on the host.
  void fetch_kept(size_t input, LocalTensor& to);
  LocalTensor kept_output(size_t i);
  /// Bytes of device memory: arena, what PlanOptions::constant keeps, inputs, and results that do
  /// not replace an input.
  size_t bytes() const;

  /// Measures each op from now on. With overlap, collectives that run beside are listed as
  /// "all_gather beside", and the time spent waiting for them as "wait". By place: each op at each
  /// line of the source, as "OP  PLACE".
  void measure(bool on, bool by_place = false);
  const std::map<std::string, OpTime>& times() const;
  /// The axis of the pipeline's stages, if the plan has a pipeline.
  const std::optional<Axis>& stage_axis() const;
  /// The F, B and W of this rank's stage in the last measured run, in nanoseconds of the steady
  /// clock, without messages between stages. Work that passes have split appears several times.
  const std::vector<schedule::Timed>& timeline() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace shardproof
