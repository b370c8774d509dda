#pragma once
// The small decisions a program is drafted from. Any of them may be left out or become 0, and a
// smaller program of the same kind is drafted: that is how failures shrink.
#include <cstdint>
#include <vector>

namespace shardproof::programs {

struct Choice {
  int op = 0, a = 0, b = 0;
  uint32_t salt = 0;
};

struct Choices {
  int axes = 1;       ///< 1 to 4
  bool exact = true;  ///< whole numbers and ops that keep them, or reals
  std::vector<Choice> params, steps;
  std::vector<int> mesh, dims;  ///< sizes of axes; factors of the sizes of dims
  int ranks = 24;               ///< at most
  uint32_t data = 0;            ///< seed of the inputs
};

/// Further decisions out of one number; of 0 they are all 0.
class Coins {
 public:
  explicit Coins(uint32_t salt) : state_(salt) {}
  int below(int n) {
    if (n <= 1 || !state_) return 0;
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<int>((z >> 33) % static_cast<uint64_t>(n));
  }
  bool one_in(int n) { return below(n) == n - 1; }
  template <class Some>
  const auto& of(const Some& some) {
    return some.at(static_cast<size_t>(below(static_cast<int>(some.size()))));
  }

 private:
  uint64_t state_;
};

}  // namespace shardproof::programs
