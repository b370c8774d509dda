#pragma once
// One run of a plan on one rank: the callbacks of plan::walk for the host and for a device.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "impl/plan/queues.h"
#include "impl/plan/walk.h"

namespace shardproof::plan {

/// The communication thread of a rank: runs its steps in order until one throws.
class Lane {
 public:
  using RunOne = std::function<void(const Step&)>;
  explicit Lane(RunOne run_one) : run_one_(std::move(run_one)) {}
  /// Drops steps that have not started, and joins the thread.
  ~Lane();

  void start(const Step& step);
  /// Waits until all but the last `but` steps have ended; rethrows their exceptions.
  void wait(size_t but);
  double waited() const { return waited_; }  ///< total seconds in wait()

 private:
  void work();

  const RunOne run_one_;
  std::mutex mutex_;
  std::condition_variable given_, ended_;
  std::deque<const Step*> steps_;  ///< those that have not ended
  bool over_ = false;
  std::exception_ptr error_;
  double waited_ = 0;
  std::thread thread_;  ///< created by the first start()
};

/// A run on the host: started collectives go to the communication thread.
class HostRunner : public Executor {
 public:
  /// `here` runs a step on the caller's thread, `beside` on the communication thread.
  HostRunner(StepContext& context, Lane::RunOne here, Lane::RunOne beside)
      : context_(context), here_(std::move(here)), lane_(std::move(beside)) {}

  void set_index(size_t loop, int64_t value) override { context_.loops[loop] = value; }
  void run(const Step& step) override { here_(step); }
  void start(const Step& step) override { lane_.start(step); }
  /// Rethrows a step's exception.
  void wait(size_t but) override { lane_.wait(but); }
  double waited() const { return lane_.waited(); }

 private:
  StepContext& context_;
  const Lane::RunOne here_;
  Lane lane_;
};

/// A run on a device: started collectives go to its collective stream.
class DeviceRunner : public Executor {
 public:
  /// `launch` enqueues a step's work on frame.queue.
  DeviceRunner(StepContext& context, const std::vector<std::unique_ptr<Queue>>& queues,
               Lane::RunOne launch)
      : context_(context), queues_(queues), launch_(std::move(launch)) {}

  void set_index(size_t loop, int64_t value) override { context_.loops[loop] = value; }
  void run(const Step& step) override { give(step, compute_queue); }
  void start(const Step& step) override;
  void wait(size_t but) override;

 private:
  void give(const Step& step, size_t queue);

  StepContext& context_;
  const std::vector<std::unique_ptr<Queue>>& queues_;
  const Lane::RunOne launch_;
  std::deque<std::shared_ptr<Event>> started_;  ///< end events of collectives not yet waited for
  std::vector<std::shared_ptr<Event>> events_;  ///< a recorded graph refers to them
};

}  // namespace shardproof::plan
