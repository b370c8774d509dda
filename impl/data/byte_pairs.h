#pragma once
// The merges of a byte-pair vocabulary.
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace shardproof::data {

class BytePairs {
 public:
  /// A pair that is joined after all earlier ones.
  void add(uint32_t left, uint32_t right, uint32_t joined);
  /// Joins the pair of the least rank, of equals the first, until no pair is left. The time is
  /// n log n in the number of tokens: a line of a file may be one word of megabytes.
  void join(std::vector<uint32_t>& tokens) const;

 private:
  struct Merge {
    size_t rank = 0;
    uint32_t token = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Merge> merges_;
  size_t added_ = 0;
};

}  // namespace shardproof::data
