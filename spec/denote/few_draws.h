#pragma once
// Random bits for small inputs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <random>

namespace shardproof::denote {

/// The numbers of `Standard`, a std::mt19937 or std::mt19937_64, each made when it is drawn. The
/// standard engine makes hundreds at once; most inputs need few.
template <class Standard>
class FewDraws {
 public:
  using result_type = typename Standard::result_type;
  explicit FewDraws(result_type seed) { state_[0] = seed & max(); }
  static constexpr result_type min() { return Standard::min(); }
  static constexpr result_type max() { return Standard::max(); }

  result_type operator()() {
    constexpr result_type low = (result_type{1} << Standard::mask_bits) - 1;
    seed_up_to(at_ + Standard::shift_size);
    const size_t next = at_ + 1 < size ? at_ + 1 : 0;
    result_type& x = state_[at_];
    const result_type pair = (x & ~low) | (state_[next] & low);
    x = state_[(at_ + Standard::shift_size) % size] ^ (pair >> 1) ^
        (pair % 2 ? Standard::xor_mask : 0);
    at_ = next;
    return tempered(x);
  }

 private:
  static constexpr size_t size = Standard::state_size;

  void seed_up_to(size_t last) {
    constexpr int shift = Standard::word_size - 2;
    const size_t end = std::min(last + 1, size);
    result_type x = state_[seeded_ - 1];
    for (; seeded_ < end; ++seeded_) {
      x = (Standard::initialization_multiplier * (x ^ (x >> shift)) + seeded_) & max();
      state_[seeded_] = x;
    }
  }

  static result_type tempered(result_type y) {
    y ^= (y >> Standard::tempering_u) & Standard::tempering_d;
    y ^= (y << Standard::tempering_s) & Standard::tempering_b;
    y ^= (y << Standard::tempering_t) & Standard::tempering_c;
    return y ^ (y >> Standard::tempering_l);
  }

  std::array<result_type, size> state_;
  size_t seeded_ = 1, at_ = 0;
};

/// The bits of random meshes and layouts, and of the numbers of laws.
using RandomBits = FewDraws<std::mt19937_64>;

}  // namespace shardproof::denote
