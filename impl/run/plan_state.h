#pragma once
// The contents of a compiled plan; impl/compile creates it.
#include <optional>

#include "impl/plan/queues.h"
#include "impl/run/assumed.h"
#include "impl/run/plan.h"
#include "impl/run/plan_calls.h"
#include "impl/run/result_memory.h"
#include "spec/schedule/schedule.h"

namespace shardproof {

struct Plan::State {
  Name name;
  Mesh mesh;
  int64_t rank = 0;
  std::vector<Slot> inputs, outputs;
  std::vector<plan::BufferId> input_buffers, output_buffers, given;
  std::vector<std::pair<plan::BufferId, plan::BufferId>> same;  ///< from in_place
  std::vector<plan::Piece> pieces;
  std::vector<plan::Step> steps;
  std::vector<std::vector<int>> groups;
  std::vector<std::vector<Axis>> group_axes;   ///< by group
  const Communicator* prepared_for = nullptr;  ///< has created the groups
  size_t loops = 0, arena_bytes = 0;
  // PlanOptions::constant: the steps of the first run alone, and what they make.
  std::vector<plan::Step> first;
  std::vector<plan::BufferId> constant_buffers;
  Buffer constants;
  bool has_constants = false;
  std::vector<bool> constant;               ///< by input
  std::vector<const std::byte*> read_from;  ///< by input: where the last run read it, if constant
  std::shared_ptr<Device> device;
  std::shared_ptr<Buffer> arena;  ///< PlanOptions::arena, or its own
  std::string calls;              ///< calls_text(); set by the first run in several processes
  std::optional<ResultMemory> result_memory;  ///< of run(); set by the first run
  bool check_finite = false;
  std::vector<plan::AssumedInput> assumed;
  std::vector<std::string> broken;  ///< by resident input: how it violates an assumption
  bool measured = false, by_place = false;
  std::map<std::string, OpTime> times;
  std::optional<Axis> stage_axis;
  std::map<size_t, schedule::Work> works;  ///< of a stage, by the turn of its steps
  std::vector<schedule::Timed> timeline;
  size_t timed = 0;  ///< turn of the last measured step

  // For a device other than the host.
  std::vector<std::unique_ptr<Queue>> queues;
  // Resident inputs and outputs; a result that replaces an input has no memory of its own.
  std::vector<Buffer> kept_inputs, kept_outputs;
  std::vector<std::byte*> lent;  ///< by output: memory in another plan, or null
  std::vector<bool> has_input;
  std::shared_ptr<Graph> graph;  ///< used by run_kept
  size_t kept_runs = 0;

  /// plan::find_race of its steps. The first run's come before them, on one stream.
  std::string find_race() const { return plan::find_race(steps, pieces, given, same); }

  std::string text() const;  ///< impl/plan/text.h

  Queue& queue() { return *queues.at(plan::compute_queue); }
  void require_fits(const LocalTensor& tensor, size_t input) const;
  /// How the tensor violates the input's assumption; empty if it does not.
  std::string broken_by(const LocalTensor& tensor, size_t input) const;
  /// If any rank's input violates an assumption, throws on all ranks, so that none hangs in a
  /// collective.
  void require_assumed(Communicator& communicator, const std::vector<std::string>& broken) const;
  void require_kept_assumed(Communicator& communicator);
  void allocate_kept();
  /// The input whose memory the result takes.
  std::optional<size_t> kept_in(size_t output) const;
  bool overwrites_inputs() const;
  std::byte* kept_result(size_t output);
  void copy_kept(const std::byte* from, LocalTensor& to);
  /// Whether it sends between stages of a pipeline.
  bool in_stages() const;
  std::vector<std::vector<int>> all_groups() const;
  plan::StepContext context(Communicator& communicator);
  /// The text that must be equal on all ranks that run the plan together.
  std::string calls_text() const;
  void require_number(size_t given) const;
  std::vector<LocalTensor> run_on(Communicator& communicator,
                                  const std::vector<const LocalTensor*>& tensors,
                                  const std::vector<LocalTensor*>& results);
  /// Whether the tensor is the one of the last run, whose entries are the same.
  bool is_same(const LocalTensor& tensor, size_t input) const;
  void note_input(const LocalTensor& tensor, size_t input);
  /// Runs the steps of the first run, unless their results are known.
  void make_constants(plan::StepContext& context);
  void run(Communicator& communicator, plan::StepContext& context);
  void record(Communicator& communicator, plan::StepContext& context);
  void run_steps(const std::vector<plan::Step>& some, plan::StepContext& context);
  void run_on_host(const std::vector<plan::Step>& some, plan::StepContext& context);
  void note(size_t turn, int64_t begin, int64_t end);
  void run_one(const plan::Step& step, plan::StepContext& context,
               std::map<std::string, OpTime>& into);
};

}  // namespace shardproof
