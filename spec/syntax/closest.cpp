#include "spec/syntax/closest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shardproof::syntax {
namespace {

/// Number of letters to insert, delete, change, or swap with the next one.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> closest(const std::string& name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  size_t least = std::min<size_t>(2, name.size() / 3 + (name.size() == 2 ? 1 : 0)) + 1;
  if (name.size() > 100) return best;
  for (const std::string& other : known) {
    if (other.size() > name.size() + 2 || other == name) continue;
    const size_t distance = edit_distance(name, other);
    if (distance < least) least = distance, best = other;
  }
  return best;
}

}  // namespace shardproof::syntax
