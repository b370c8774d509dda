#include "impl/comm/parked_threads.h"

#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#ifdef __unix__
#include <unistd.h>
#endif

namespace shardproof {
namespace {

struct Thread {
  std::binary_semaphore begins{0};
  std::function<void()> work;
};

int process() {
#ifdef __unix__
  return getpid();
#else
  return 0;
#endif
}

/// The threads without work.
class Parked {
 public:
  /// Null if there are none. A forked process has none of its parent's.
  Thread* take() {
    const std::lock_guard lock(mutex_);
    if (const int own = process(); own != process_) {
      process_ = own;
      threads_.clear();
    }
    if (threads_.empty()) return nullptr;
    Thread* const taken = threads_.back();
    threads_.pop_back();
    return taken;
  }
  void give(Thread* thread) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(thread);
  }

 private:
  std::mutex mutex_;
  int process_ = process();
  std::vector<Thread*> threads_;
};

/// Never destroyed: its threads outlive main().
Parked& parked() {
  static Parked* const all = new Parked;
  return *all;
}

Thread* started() {
  auto made = std::make_unique<Thread>();
  std::thread([own = made.get()] {
    while (true) {
      own->begins.acquire();
      std::exchange(own->work, nullptr)();
    }
  }).detach();
  return made.release();
}

}  // namespace

void ParkedThreads::start(std::function<void()> work) {
  Thread* thread = parked().take();
  if (!thread) thread = started();
  {
    const std::lock_guard lock(running_->mutex);
    ++running_->count;
  }
  thread->work = [thread, running = running_, work = std::move(work)]() mutable {
    work();
    work = nullptr;  // what it holds ends before the caller goes on
    parked().give(thread);
    const std::lock_guard lock(running->mutex);
    if (--running->count == 0) running->ended.notify_all();
  };
  thread->begins.release();
}

ParkedThreads::~ParkedThreads() {
  std::unique_lock lock(running_->mutex);
  running_->ended.wait(lock, [&] { return running_->count == 0; });
}

}  // namespace shardproof
