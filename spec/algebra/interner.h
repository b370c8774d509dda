// Hash-consing: one id per distinct value; references stay valid while the table grows.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

namespace shardproof::algebra {

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x7f4a7c159e3779b9ull + (a << 6) + (a >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 29);
}

/// T needs `uint64_t hash_value(const T&)` and `bool same(const T&, const T&)`.
template <typename T>
class Interner {
 public:
  /// The id of `value`, and whether it is new.
  std::pair<uint32_t, bool> intern(T value) {
    uint64_t hash = hash_value(value);
    auto [first, last] = index_.equal_range(hash);
    for (; first != last; ++first)
      if (same(values_[first->second], value)) return {first->second, false};
    auto id = static_cast<uint32_t>(values_.size());
    values_.push_back(std::move(value));
    index_.emplace(hash, id);
    return {id, true};
  }
  const T& operator[](uint32_t id) const { return values_[id]; }
  size_t size() const { return values_.size(); }

 private:
  std::deque<T> values_;
  std::unordered_multimap<uint64_t, uint32_t> index_;
};

}  // namespace shardproof::algebra
