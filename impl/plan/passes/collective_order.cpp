#include "impl/plan/passes/collective_order.h"

#include <algorithm>
#include <set>

namespace shardproof::plan {
namespace {

constexpr size_t longest_chain = 64;    ///< of steps that compute a gather's operand
constexpr size_t most_hopped_over = 2;  ///< gathers of activations

class Hops {
 public:
  Hops(const std::vector<Step>& steps, const std::vector<Access>& access, bool alike)
      : steps_(steps), access_(access), alike_(alike) {}

  std::deque<size_t> take() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!communicates(steps_[i])) continue;
      const bool is_free = alike_ && steps_[i].op == "all_gather" && reads_no_work(i);
      const size_t at = is_free ? place_now() : order_.size();
      if (is_free) free_.insert(i);
      order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at), i);
    }
    return {order_.begin(), order_.end()};
  }

 private:
  /// Whether the gather's operand depends on no expensive step and no other collective.
  bool reads_no_work(size_t gather) const {
    std::vector<size_t> chain{gather};
    for (size_t i = gather; i-- > 0;) {
      if (std::none_of(chain.begin(), chain.end(),
                       [&](size_t each) { return conflict(access_[i], access_[each]); }))
        continue;
      if (is_heavy(steps_[i]) || steps_[i].fused || chain.size() == longest_chain) return false;
      chain.push_back(i);
    }
    return true;
  }

  /// The position before the last reductions so far, after gathers that are already there.
  size_t place_now() const {
    size_t at = order_.size(), gathers = 0;
    bool over_reductions = false;
    for (; at > 0; --at) {
      const size_t before = order_[at - 1];
      const bool reduction = steps_[before].op == "psum_scatter";
      over_reductions = over_reductions || reduction;
      if (reduction) continue;
      if (steps_[before].op != "all_gather" || free_.contains(before) ||
          ++gathers > most_hopped_over)
        break;
    }
    size_t ahead = 0;
    while (ahead < at && order_[at - 1 - ahead] > order_[std::min(at, order_.size() - 1)]) ++ahead;
    return over_reductions && ahead < most_gathered_ahead ? at : order_.size();
  }

  const std::vector<Step>& steps_;
  const std::vector<Access>& access_;
  const bool alike_;
  std::vector<size_t> order_;
  std::set<size_t> free_;
};

}  // namespace

bool is_heavy(const Step& step) {
  return step.is_loop || is_collective(step) || step.op == "einsum";
}

std::deque<size_t> order_of_collectives(const std::vector<Step>& steps,
                                        const std::vector<Access>& access, bool alike) {
  return Hops(steps, access, alike).take();
}

}  // namespace shardproof::plan
