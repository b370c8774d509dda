#pragma once
// What a compiled plan has: impl/compile makes it.
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
  std::vector<std::pair<plan::BufferId, plan::BufferId>> same;  ///< of in_place
  std::vector<plan::Piece> pieces;
  std::vector<plan::Step> steps;
  std::vector<std::vector<int>> groups;
  std::vector<std::vector<Axis>> group_axes;   ///< of each of them
  const Communicator* prepared_for = nullptr;  ///< who knows the groups
  size_t loops = 0, arena_bytes = 0;
  std::shared_ptr<Device> device;
  Buffer arena;
  std::optional<plan::PlanCalls> calls;  ///< made for the first communicator that compares calls
  std::optional<ResultMemory> result_memory;  ///< of run(); made by the first
  bool check_finite = false;
  std::vector<plan::AssumedInput> assumed;
  std::vector<std::string> broken;  ///< by input that is kept: how it is not what is assumed
  bool measured = false;
  std::map<std::string, OpTime> times;
  std::optional<Axis> stage_axis;
  std::map<size_t, schedule::Work> works;  ///< of a stage, by the turn of its steps
  std::vector<schedule::Timed> timeline;
  size_t timed = 0;  ///< the turn of the last step that was measured

  // On a device that is not the host.
  std::vector<std::unique_ptr<Queue>> queues;
  // Inputs and outputs that stay; a result in place of an input has no memory of its own.
  std::vector<Buffer> kept_inputs, kept_outputs;
  std::vector<std::byte*> lent;  ///< by output: memory of another plan; null: none
  std::vector<bool> has_input;
  std::shared_ptr<Graph> graph;  ///< of run_kept
  size_t kept_runs = 0;

  /// plan::find_race of its steps.
  std::string find_race() const { return plan::find_race(steps, pieces, given, same); }

  std::string text() const;  ///< impl/plan/text.h

  Queue& queue() { return *queues.at(plan::compute_queue); }
  void require_fits(const Tensor& tensor, size_t input) const;
  /// How it is not what is assumed of it; empty: it is.
  std::string broken_by(const Tensor& tensor, size_t input) const;
  /// All ranks throw, where one of them has an input that is not: none waits in a collective.
  void require_assumed(Communicator& communicator, const std::vector<std::string>& broken) const;
  void allocate_kept();
  std::optional<size_t> kept_in(size_t output) const;
  std::byte* kept_result(size_t output);
  void copy_kept(const std::byte* from, Tensor& to);
  /// Whether it sends between the stages of a pipeline.
  bool in_stages() const;
  std::vector<std::vector<int>> all_groups() const;
  plan::Frame frame(Communicator& communicator);
  void run(Communicator& communicator, plan::Frame& frame);
  void record(Communicator& communicator, plan::Frame& frame);
  void run_steps(plan::Frame& frame);
  void run_on_host(plan::Frame& frame);
  void note(size_t turn, int64_t begin, int64_t end);
  void run_one(const plan::Step& step, plan::Frame& frame, std::map<std::string, OpTime>& into);
};

}  // namespace shardproof
