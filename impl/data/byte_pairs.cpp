#include "impl/data/byte_pairs.h"

#include <numeric>
#include <queue>
#include <tuple>

namespace shardproof::data {
namespace {

/// A pair that was there when it was found; another may have taken one of its tokens since.
struct Candidate {
  size_t rank, at;
  uint32_t left, right, joined;
  bool operator>(const Candidate& other) const {
    return std::tie(rank, at) > std::tie(other.rank, other.at);
  }
};

/// The tokens of a word, linked: a joined pair is at its first position.
class Links {
 public:
  explicit Links(const std::vector<uint32_t>& tokens)
      : tokens_(tokens), next_(tokens.size()), before_(tokens.size()), gone_(tokens.size()) {
    std::iota(next_.begin(), next_.end(), size_t{1});
    std::iota(before_.begin(), before_.end(), size_t(-1));
  }
  bool has_pair_at(size_t at) const { return at < next_.size() && next_[at] < next_.size(); }
  bool has_before(size_t at) const { return at != 0; }
  size_t before(size_t at) const { return before_[at]; }
  std::pair<uint32_t, uint32_t> pair_at(size_t at) const {
    return {tokens_[at], tokens_[next_[at]]};
  }
  bool still_has(const Candidate& each) const {
    return !gone_[each.at] && has_pair_at(each.at) &&
           pair_at(each.at) == std::pair(each.left, each.right);
  }
  void join(size_t at, uint32_t joined) {
    const size_t right = next_[at];
    tokens_[at] = joined;
    gone_[right] = true;
    next_[at] = next_[right];
    if (next_[at] < next_.size()) before_[next_[at]] = at;
  }
  std::vector<uint32_t> left() const {
    std::vector<uint32_t> result;
    for (size_t at = 0; at < tokens_.size(); at = next_[at]) result.push_back(tokens_[at]);
    return result;
  }

 private:
  std::vector<uint32_t> tokens_;
  std::vector<size_t> next_, before_;
  std::vector<bool> gone_;
};

}  // namespace

void BytePairs::add(uint32_t left, uint32_t right, uint32_t joined) {
  merges_[{left, right}] = {added_++, joined};
}

void BytePairs::join(std::vector<uint32_t>& tokens) const {
  Links links(tokens);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](size_t at) {
    if (!links.has_pair_at(at)) return;
    const auto [left, right] = links.pair_at(at);
    if (const auto found = merges_.find({left, right}); found != merges_.end())
      candidates.push({found->second.rank, at, left, right, found->second.token});
  };
  for (size_t at = 0; at < tokens.size(); ++at) consider(at);
  while (!candidates.empty()) {
    const Candidate first = candidates.top();
    candidates.pop();
    if (!links.still_has(first)) continue;
    links.join(first.at, first.joined);
    consider(first.at);
    if (links.has_before(first.at)) consider(links.before(first.at));
  }
  tokens = links.left();
}

}  // namespace shardproof::data
