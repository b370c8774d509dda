#pragma once
// Runs the steps of a plan, those that start on a thread of its own.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "impl/plan/steps.h"

namespace shardproof::plan {

/// The communication thread of a rank: runs what it is given in order, until something throws.
class Lane {
 public:
  using RunOne = std::function<void(const Step&)>;
  explicit Lane(RunOne run_one) : run_one_(std::move(run_one)) {}
  /// What has not begun never runs; returns when the thread has ended.
  ~Lane();

  void start(const Step& step);
  /// Returns when all but the last `but` have ended; throws what one of them has thrown.
  void wait(size_t but);
  double waited() const { return waited_; }  ///< seconds, of all waits

 private:
  void work();

  const RunOne run_one_;
  std::mutex mutex_;
  std::condition_variable given_, ended_;
  std::deque<const Step*> steps_;  ///< those that have not ended
  bool over_ = false;
  std::exception_ptr error_;
  double waited_ = 0;
  std::thread thread_;  ///< from the first start on
};

/// One run of a plan on one rank.
class Runner {
 public:
  /// `here` runs a step on the caller's thread, `beside` on the communication thread.
  Runner(Frame& frame, Lane::RunOne here, Lane::RunOne beside)
      : frame_(frame), here_(std::move(here)), lane_(std::move(beside)) {}

  /// Returns when all has ended. Throws what a step throws, of those in order the first to be seen.
  void run(const std::vector<Step>& steps);
  double waited() const { return lane_.waited(); }

 private:
  void run_block(const std::vector<Step>& steps);

  Frame& frame_;
  const Lane::RunOne here_;
  Lane lane_;
};

}  // namespace shardproof::plan
