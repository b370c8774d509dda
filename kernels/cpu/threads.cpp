#include "kernels/cpu/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace shardproof::cpu {
namespace {

/// Set while this thread works on a piece: pieces within a piece are computed in order.
thread_local bool in_piece = false;

/// Waits for something that may come soon, awake: most ops take less time than a thread to wake.
template <class Comes>
void watch(const Comes& comes) {
  constexpr auto longest = std::chrono::microseconds(100);
  for (const auto begin = std::chrono::steady_clock::now();
       !comes() && std::chrono::steady_clock::now() - begin < longest;)
    std::this_thread::yield();
}

/// What one rank shares with the helpers. The rank removes it when no helper is at it.
struct Job {
  const std::function<void(int64_t)>& piece;
  const int64_t count;
  std::atomic<int64_t> next{0};
  std::atomic<int> helpers = 0;
  std::exception_ptr error = nullptr;

  bool is_open() const { return next < count; }
};

class Pool {
 public:
  Pool(int all, int ranks) : most_(std::max(all - 1, 0)), room_(all - ranks) {}
  Pool(const Pool&) = delete;
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    begin_.notify_all();
    for (std::thread& each : threads_) each.join();
  }

  int most() const { return most_; }

  void run(int64_t count, const std::function<void(int64_t)>& piece) {
    Job job{piece, count};
    {
      const std::lock_guard lock(mutex_);
      if (threads_.empty()) start();
      jobs_.push_back(&job);
      ++posted_;
    }
    begin_.notify_all();
    work(job, [] { return true; });
    watch([&] { return job.helpers == 0; });
    std::unique_lock lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    end_.wait(lock, [&] { return job.helpers == 0; });
    if (job.error) std::rethrow_exception(job.error);
  }

  /// One rank more or less waits.
  void lend(int change) {
    if (most_ == 0) return;
    {
      const std::lock_guard lock(mutex_);
      room_ += change;
    }
    if (change > 0) begin_.notify_one();
  }

 private:
  void start() {
    try {
      for (int i = 0; i < most_; ++i) threads_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // the system has no more threads: these do all of it
    }
  }

  void help() {
    std::unique_lock lock(mutex_);
    while (true) {
      Job* job = nullptr;
      if (!ends_ && room_ > 0 && !open_job()) {
        const int64_t seen = posted_;
        lock.unlock();
        watch([&] { return posted_ != seen || room_ <= 0 || ends_; });
        lock.lock();
      }
      begin_.wait(lock, [&] { return ends_ || (room_ > 0 && (job = open_job())); });
      if (ends_) return;
      ++job->helpers;
      --room_;
      lock.unlock();
      work(*job, [this] { return room_ >= 0; });
      lock.lock();
      ++room_;
      if (--job->helpers == 0) end_.notify_all();
    }
  }

  /// The one with the fewest helpers.
  Job* open_job() const {
    Job* found = nullptr;
    for (Job* each : jobs_)
      if (each->is_open() && (!found || each->helpers < found->helpers)) found = each;
    return found;
  }

  template <class GoesOn>
  void work(Job& job, const GoesOn& goes_on) {
    in_piece = true;
    try {
      while (goes_on()) {
        const int64_t i = job.next.fetch_add(1);
        if (i >= job.count) break;
        job.piece(i);
      }
    } catch (...) {
      job.next = job.count;
      const std::lock_guard lock(mutex_);
      if (!job.error) job.error = std::current_exception();
    }
    in_piece = false;
  }

  const int most_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  /// How many more may work; negative: ranks need as many threads themselves.
  std::atomic<int> room_;
  std::vector<Job*> jobs_;
  std::atomic<int64_t> posted_ = 0;  ///< jobs so far
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
};

std::unique_ptr<Pool>& pool() {
  static std::unique_ptr<Pool> pool = std::make_unique<Pool>(1, 1);
  return pool;
}

}  // namespace

void set_threads(int all, int ranks) { pool() = std::make_unique<Pool>(all, ranks); }
int threads() { return pool()->most() + 1; }

Lent::Lent() { pool()->lend(1); }
Lent::~Lent() { pool()->lend(-1); }

void in_pieces(int64_t count, const std::function<void(int64_t)>& piece) {
  if (count > 1 && pool()->most() > 0 && !in_piece) return pool()->run(count, piece);
  for (int64_t i = 0; i < count; ++i) piece(i);
}

}  // namespace shardproof::cpu
