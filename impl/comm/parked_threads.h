#pragma once
// Threads that wait for more work instead of ending: to start and end one takes as long as a small
// plan runs.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace shardproof {

/// Runs each work in a thread of its own; the destructor waits until all have ended.
class ParkedThreads {
 public:
  ParkedThreads() = default;
  ParkedThreads(const ParkedThreads&) = delete;
  ParkedThreads& operator=(const ParkedThreads&) = delete;
  ~ParkedThreads();

  /// `work` must not throw. Throws std::system_error if the system has no more threads.
  void start(std::function<void()> work);

 private:
  struct Running {
    std::mutex mutex;
    std::condition_variable ended;
    int count = 0;
  };
  const std::shared_ptr<Running> running_ = std::make_shared<Running>();
};

}  // namespace shardproof
