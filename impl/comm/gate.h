#pragma once
// A barrier for threads that first yields and then sleeps, and that can be shut for ever.
#include <atomic>
#include <cstdint>
#include <thread>

namespace shardproof {

/// Each member passes again and again; the k-th passes of all members wait for each other. Shut,
/// it lets through those whose pass was complete before, and no others: all members of one pass
/// get the same answer.
class Gate {
 public:
  explicit Gate(int size) : size_(static_cast<uint32_t>(size)) {}

  /// The `pass`-th pass of this member, from 1; false: shut. `before_sleep` is called at most once.
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

  /// Modulo 2^32, as all numbers here.
  static bool reached(uint32_t seen, uint32_t wanted) {
    return static_cast<int32_t>((seen & ~shut_bit) - wanted) >= 0;
  }
  /// False: shut. After that the number of arrivals never changes again.
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
