#pragma once
// A barrier for threads that first spins, then sleeps, and that can be shut permanently.
#include <atomic>
#include <cstdint>
#include <thread>

namespace shardproof {

/// Members pass repeatedly; the k-th passes of all members wait for each other. Once shut,
/// only passes that were already complete succeed: all members of a pass get the same
/// answer.
class Gate {
 public:
  explicit Gate(int size) : size_(static_cast<uint32_t>(size)) {}

  /// Waits for this member's `pass`-th pass, counted from 1. False: shut. Calls `before_sleep` at
  /// most once.
  template <class BeforeSleep>
  bool pass(uint32_t pass, const BeforeSleep& before_sleep);
  bool pass(uint32_t pass_number) {
    return pass(pass_number, [] {});
  }
  void shut() {
    arrivals_.fetch_or(shut_bit);
    arrivals_.notify_all();
  }

 private:
  static constexpr uint32_t shut_bit = 1, arrival = 2;
  static constexpr int yields = 100;

  /// Modulo 2^32, like all counters here.
  static bool reached(uint32_t seen, uint32_t wanted) {
    return static_cast<int32_t>((seen & ~shut_bit) - wanted) >= 0;
  }
  /// False: shut. The number of arrivals never changes after that.
  bool arrive(uint32_t wanted);

  const uint32_t size_;
  alignas(64) std::atomic<uint32_t> arrivals_{0};
};

inline bool Gate::arrive(uint32_t wanted) {
  uint32_t seen = arrivals_.load(std::memory_order_acquire);
  do {
    if (seen & shut_bit) return false;
  } while (!arrivals_.compare_exchange_weak(seen, seen + arrival, std::memory_order_acq_rel));
  if (seen + arrival == wanted) arrivals_.notify_all();
  return true;
}

template <class BeforeSleep>
bool Gate::pass(uint32_t pass, const BeforeSleep& before_sleep) {
  const uint32_t wanted = pass * size_ * arrival;
  if (!arrive(wanted)) return false;
  for (int i = 0;; ++i) {
    const uint32_t seen = arrivals_.load(std::memory_order_acquire);
    if (reached(seen, wanted)) return true;
    if (seen & shut_bit) return false;
    if (i == yields) before_sleep();
    if (i < yields)
      std::this_thread::yield();
    else
      arrivals_.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace shardproof
