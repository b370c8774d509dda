#include "spec/cli/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace shardproof::cli {
namespace {

/// Levenshtein distance.
size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t k = 0; k < b.size(); ++k) {
      const size_t replaced = diagonal + (a[i] != b[k]);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, row[k] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::optional<std::string> nearest(const std::string& word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (lower(word) == lower(candidate)) return candidate;
    const size_t count = edits(word, candidate);
    if (count < fewest && count < candidate.size()) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

}  // namespace shardproof::cli
