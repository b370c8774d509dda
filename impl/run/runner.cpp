#include "impl/run/runner.h"

#include <chrono>

#include "kernels/cpu/threads.h"

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
    const cpu::Lent lent;
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

void DeviceRunner::give(const Step& step, size_t queue) {
  context_.queue = queues_.at(queue).get();
  launch_(step);
}

void DeviceRunner::start(const Step& step) {
  events_.push_back(queues_.at(compute_queue)->record());
  queues_.at(collective_queue)->wait(*events_.back());
  give(step, collective_queue);
  started_.push_back(queues_.at(collective_queue)->record());
}

void DeviceRunner::wait(size_t but) {
  if (started_.size() <= but) return;
  const size_t ended = started_.size() - but;
  queues_.at(compute_queue)->wait(*started_[ended - 1]);
  events_.insert(events_.end(), started_.begin(),
                 started_.begin() + static_cast<std::ptrdiff_t>(ended));
  started_.erase(started_.begin(), started_.begin() + static_cast<std::ptrdiff_t>(ended));
}

}  // namespace shardproof::plan
