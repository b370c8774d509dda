// Hash-consing: one id per distinct value. References stay valid while the table grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace shardproof::algebra {

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x7f4a7c159e3779b9ull + (a << 6) + (a >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 29);
}

/// T needs `uint64_t hash_value(const T&)` and `bool same(const T&, const T&)`. Open addressing, at
/// most half full: a value is in the first free cell after its hash.
template <typename T>
class Interner {
 public:
  /// The id of `value`, and whether it is new.
  std::pair<uint32_t, bool> intern(T value) {
    if (2 * values_.size() >= cells_.size()) grow();
    const uint64_t hash = hash_value(value);
    size_t at = hash & (cells_.size() - 1);
    for (; cells_[at].id != free; at = (at + 1) & (cells_.size() - 1))
      if (cells_[at].hash == hash && same(values_[cells_[at].id], value))
        return {cells_[at].id, false};
    const auto id = static_cast<uint32_t>(values_.size());
    values_.push_back(std::move(value));
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
    std::vector<Cell> old(std::max<size_t>(64, 4 * cells_.size()));
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.id == free) continue;
      size_t at = cell.hash & (cells_.size() - 1);
      while (cells_[at].id != free) at = (at + 1) & (cells_.size() - 1);
      cells_[at] = cell;
    }
  }

  std::deque<T> values_;
  std::vector<Cell> cells_;
};

}  // namespace shardproof::algebra
