#include "impl/run/runner.h"

#include <chrono>

namespace shardproof::plan {

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  given_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Lane::start(const Step& step) {
  {
    const std::lock_guard lock(mutex_);
    steps_.push_back(&step);
  }
  if (thread_.joinable())
    given_.notify_one();
  else
    thread_ = std::thread([this] { work(); });
}

void Lane::wait(size_t but) {
  std::unique_lock lock(mutex_);
  if (steps_.size() > but && !error_) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    ended_.wait(lock, [&] { return steps_.size() <= but || error_; });
    waited_ += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  if (error_) std::rethrow_exception(error_);
}

void Lane::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    given_.wait(lock, [&] { return over_ || !steps_.empty(); });
    if (over_ || error_) return;
    const Step& step = *steps_.front();
    lock.unlock();
    std::exception_ptr error;
    try {
      run_one_(step);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    steps_.pop_front();
    error_ = error;
    ended_.notify_one();
  }
}

void Runner::run(const std::vector<Step>& steps) {
  run_block(steps);
  lane_.wait(0);
}

void Runner::run_block(const std::vector<Step>& steps) {
  bool started = false;
  for (const Step& step : steps) {
    if (step.waits) lane_.wait(*step.waits);
    started = started || step.starts;
    if (step.starts) {
      lane_.start(step);
    } else if (!step.is_loop) {
      here_(step);
    } else {
      for (int64_t i = 0; i < step.times; ++i) {
        frame_.loops[step.loop] = step.reverse ? step.times - 1 - i : i;
        run_block(step.body);
      }
    }
  }
  if (started) lane_.wait(0);
}

}  // namespace shardproof::plan
