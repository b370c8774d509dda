#include "kernels/cpu/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace shardproof::cpu {
namespace {

std::atomic<int> most_threads{1};

/// Set while this thread works on a piece: pieces within a piece are computed in order.
thread_local bool in_piece = false;

class Pool {
 public:
  explicit Pool(int helpers) : helpers_(helpers) {
    try {
      for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // the system has no more threads: these do all of it
    }
  }
  Pool(const Pool&) = delete;
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    begin_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  int helpers() const { return helpers_; }

  void run(int64_t count, const std::function<void(int64_t)>& piece) {
    {
      const std::lock_guard lock(mutex_);
      piece_ = &piece;
      count_ = count;
      next_ = 0;
      error_ = nullptr;
      ++round_;
    }
    begin_.notify_all();
    work(piece, count);
    std::unique_lock lock(mutex_);
    piece_ = nullptr;  // a helper that wakes up late finds nothing
    end_.wait(lock, [&] { return busy_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void help() {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      begin_.wait(lock, [&] { return ends_ || (piece_ && round_ != seen); });
      if (ends_) return;
      seen = round_;
      ++busy_;
      const std::function<void(int64_t)>& piece =
          *piece_;  // valid until the caller sees busy_ at 0
      const int64_t count = count_;
      lock.unlock();
      work(piece, count);
      lock.lock();
      if (--busy_ == 0) end_.notify_one();
    }
  }

  void work(const std::function<void(int64_t)>& piece, int64_t count) {
    in_piece = true;
    try {
      for (int64_t i; (i = next_.fetch_add(1)) < count;) piece(i);
    } catch (...) {
      next_ = count;
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    in_piece = false;
  }

  const int helpers_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  // The round.
  const std::function<void(int64_t)>* piece_ = nullptr;
  int64_t count_ = 0;
  uint64_t round_ = 0;
  std::atomic<int64_t> next_{0};
  int busy_ = 0;  ///< helpers at work
  bool ends_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

/// Of the calling thread, which is a rank's.
Pool& own_pool(int helpers) {
  thread_local std::unique_ptr<Pool> pool;
  if (!pool || pool->helpers() != helpers) pool = std::make_unique<Pool>(helpers);
  return *pool;
}

}  // namespace

void set_threads(int most) { most_threads = std::max(most, 1); }
int threads() { return most_threads; }

void in_pieces(int64_t count, const std::function<void(int64_t)>& piece) {
  const int helpers = threads() - 1;
  if (count > 1 && helpers > 0 && !in_piece) return own_pool(helpers).run(count, piece);
  for (int64_t i = 0; i < count; ++i) piece(i);
}

}  // namespace shardproof::cpu
