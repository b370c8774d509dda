#pragma once
// Random numbers that are the same on every machine.
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace shardproof::laws {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  /// These words, then zeros: a shorter list or smaller words draw something smaller.
  explicit Dice(std::vector<uint64_t> words) : words_(std::move(words)), is_list_(true) {}

  /// A source of random bits, as those of <random>.
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() { return word(); }

  uint64_t word() {
    if (is_list_) return next_ < words_.size() ? words_[next_++] : 0;
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 .. n - 1
  int64_t below(int64_t n) { return static_cast<int64_t>(word() % static_cast<uint64_t>(n)); }
  /// first .. last
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  bool percent(int64_t chance) { return below(100) < chance; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int64_t>(all.size()))];
  }

 private:
  uint64_t state_ = 0;
  std::vector<uint64_t> words_;
  size_t next_ = 0;
  bool is_list_ = false;
};

}  // namespace shardproof::laws
