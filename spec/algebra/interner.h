// Hash-consing: one id per distinct value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

namespace shardproof::algebra {

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x7f4a7c159e3779b9ull + (a << 6) + (a >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 29);
}

/// An array that grows, whose elements stay where they are: references stay valid.
template <typename T>
class Stable {
 public:
  void push_back(T value) {
    if (size_ % block == 0) blocks_.push_back(std::make_unique<T[]>(block));
    blocks_.back()[size_++ % block] = std::move(value);
  }
  T& operator[](size_t i) { return blocks_[i / block][i % block]; }
  const T& operator[](size_t i) const { return blocks_[i / block][i % block]; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t block = 32;
  std::vector<std::unique_ptr<T[]>> blocks_;
  size_t size_ = 0;
};

inline uint64_t hash_value(uint64_t key) { return mix(key, 0); }
inline bool same(uint64_t a, uint64_t b) { return a == b; }

/// T needs `uint64_t hash_value(const T&)` and `bool same(const T&, const T&)`, where a span stands
/// for a vector. Open addressing, at most half full: a value is in the first free cell after its
/// hash. References to values stay valid.
template <typename T>
class Interner {
 public:
  /// The id of `value`, and whether it is new: only then a T is made of it.
  template <typename Value>
  std::pair<uint32_t, bool> intern(const Value& value) {
    if (2 * values_.size() >= cells_.size()) grow();
    const uint64_t hash = hash_value(value), last = cells_.size() - 1;
    size_t at = hash & last;
    for (; cells_[at].id != free; at = (at + 1) & last)
      if (cells_[at].hash == hash && same(values_[cells_[at].id], value))
        return {cells_[at].id, false};
    const auto id = static_cast<uint32_t>(values_.size());
    if constexpr (std::ranges::range<Value>)
      values_.push_back(T(value.begin(), value.end()));
    else
      values_.push_back(value);
    cells_[at] = {hash, id};
    return {id, true};
  }
  const T& operator[](uint32_t id) const { return values_[id]; }
  size_t size() const { return values_.size(); }

 private:
  static constexpr uint32_t free = ~uint32_t{0};
  struct Cell {
    uint64_t hash = 0;
    uint32_t id = free;
  };

  void grow() {
    std::vector<Cell> old(std::max<size_t>(128, 4 * cells_.size()));
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.id == free) continue;
      size_t at = cell.hash & (cells_.size() - 1);
      while (cells_[at].id != free) at = (at + 1) & (cells_.size() - 1);
      cells_[at] = cell;
    }
  }

  Stable<T> values_;
  std::vector<Cell> cells_;
};

/// Results by pairs of ids.
template <typename T>
class ByPair {
 public:
  /// The result; none until it is set.
  std::optional<T>& operator()(uint32_t a, uint32_t b) {
    const auto [id, fresh] = pairs_.intern(uint64_t{a} << 32 | b);
    if (fresh) results_.push_back({});
    return results_[id];
  }

 private:
  Interner<uint64_t> pairs_;
  Stable<std::optional<T>> results_;
};

}  // namespace shardproof::algebra
