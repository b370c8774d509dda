#include <algorithm>
#include <deque>
#include <utility>

#include "impl/plan/passes/collective_order.h"
#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace {

constexpr size_t look_ahead = 128;       ///< max. number of steps that a collective moves up
constexpr size_t most_moved_along = 16;  ///< max. number of steps that move with it

/// The order of a block's steps.
class Order {
 public:
  Order(const std::vector<Step>& steps, const std::vector<Access>& access, bool alike)
      : steps_(steps),
        access_(access),
        done_(steps.size()),
        collectives_(order_of_collectives(steps, access, alike)) {}

  std::vector<size_t> take() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      emit_what_need_not_wait();
      if (done_[i]) continue;
      begin_what_is_ready(i);
      if (done_[i]) continue;
      if (!is_heavy(steps_[i]) && would_wait(i)) {
        late_.push_back(i);
        continue;
      }
      while (communicates(steps_[i]) && collectives_.front() != i)
        emit_with_its_chain(collectives_.front());
      emit_with_its_chain(i);
    }
    while (!late_.empty()) emit(late_.front());
    return std::move(order_);
  }

 private:
  bool conflicts_with(size_t i, const std::vector<size_t>& some) const {
    return std::any_of(some.begin(), some.end(),
                       [&](size_t each) { return conflict(access_[i], access_[each]); });
  }

  /// Whether the step needs a collective in progress, or a delayed step. It is delayed until
  /// another step needs it or the collective has ended; until then the rank computes later steps.
  bool would_wait(size_t i) const {
    return conflicts_with(i, under_way_) || conflicts_with(i, late_);
  }
  void emit_what_need_not_wait() {
    if (!ended_some_) return;
    ended_some_ = false;
    const std::vector<size_t> late = std::exchange(late_, {});
    for (size_t i : late) would_wait(i) ? late_.push_back(i) : emit(i);
  }

  void begin_what_is_ready(size_t now) {
    std::vector<size_t> along;
    while (gathered_ahead() < most_gathered_ahead && !collectives_.empty() &&
           can_begin(now, collectives_.front(), along)) {
      const size_t collective = collectives_.front();
      for (size_t i = along.size(); i-- > 0;) emit(along[i]);
      emit(collective);
    }
  }
  /// Reductions do not count: their results are small.
  size_t gathered_ahead() const {
    return static_cast<size_t>(
        std::count_if(under_way_.begin(), under_way_.end(),
                      [&](size_t each) { return steps_[each].op != "psum_scatter"; }));
  }

  /// The steps that must come before it, last one first, delayed ones included.
  std::vector<size_t> chain_of(size_t i) const {
    std::vector<size_t> chain{i};
    for (size_t before = i; before-- > first_left();)
      if (!done_[before] && conflicts_with(before, chain)) chain.push_back(before);
    chain.erase(chain.begin());
    return chain;
  }
  void emit_with_its_chain(size_t i) {
    const std::vector<size_t> chain = chain_of(i);
    for (size_t k = chain.size(); k-- > 0;) emit(chain[k]);
    emit(i);
  }
  bool can_begin(size_t now, size_t collective, std::vector<size_t>& along) const {
    if (steps_[collective].is_loop || collective > now + look_ahead) return false;
    along = chain_of(collective);
    return along.size() <= most_moved_along &&
           std::none_of(along.begin(), along.end(),
                        [&](size_t each) { return is_heavy(steps_[each]) || would_wait(each); });
  }

  void emit(size_t i) {
    done_[i] = true;
    order_.push_back(i);
    std::erase(late_, i);
    while (first_left_ < done_.size() && done_[first_left_]) ++first_left_;
    const bool collective = communicates(steps_[i]);
    if (collective) collectives_.pop_front();
    if (collective && !steps_[i].is_loop) return under_way_.push_back(i);
    size_t ended = collective ? under_way_.size() : 0;
    for (size_t k = under_way_.size(); k-- > ended;)
      if (conflict(access_[i], access_[under_way_[k]])) ended = k + 1;
    under_way_.erase(under_way_.begin(), under_way_.begin() + static_cast<std::ptrdiff_t>(ended));
    ended_some_ = ended_some_ || ended > 0;
  }
  size_t first_left() const { return first_left_; }

  const std::vector<Step>& steps_;
  const std::vector<Access>& access_;
  std::vector<bool> done_;
  std::deque<size_t> collectives_;  ///< not started yet
  std::vector<size_t> order_;
  std::vector<size_t> under_way_;  ///< in progress, as far as known here
  std::vector<size_t> late_;       ///< delayed: they would wait
  size_t first_left_ = 0;
  bool ended_some_ = false;
};

/// Decides which collectives start early, and where the plan waits. A collective that the next step
/// would wait for runs in place, after all earlier ones have ended.
class Waits {
 public:
  Waits(std::vector<Step>& steps, const std::vector<Access>& access)
      : steps_(steps), access_(access) {}

  void mark() {
    for (size_t i = steps_.size(); i-- > 0;)
      steps_[i].starts = is_collective(steps_[i]) && !in_place(i);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const size_t needed = needed_by(i);
      if (needed > 0) {
        steps_[i].waits = under_way_.size() - needed;
        under_way_.erase(under_way_.begin(),
                         under_way_.begin() + static_cast<std::ptrdiff_t>(needed));
      }
      if (steps_[i].starts) under_way_.push_back(i);
    }
  }

 private:
  bool in_place(size_t i) const {
    if (i + 1 == steps_.size()) return true;
    const Step& next = steps_[i + 1];
    if (is_collective(next)) return !next.starts;
    return communicates(next) || conflict(access_[i], access_[i + 1]);
  }

  /// The number of collectives in progress, from the first, that step i needs.
  size_t needed_by(size_t i) const {
    if (steps_[i].starts) return 0;
    if (communicates(steps_[i])) return under_way_.size();
    size_t k = under_way_.size();
    while (k > 0 && !conflict(access_[i], access_[under_way_[k - 1]])) --k;
    return k;
  }

  std::vector<Step>& steps_;
  const std::vector<Access>& access_;
  std::deque<size_t> under_way_;
};

std::vector<Access> accesses(const std::vector<Step>& steps) {
  std::vector<Access> all;
  for (const Step& step : steps) all.push_back(access_of(step));
  return all;
}

}  // namespace

void overlap(std::vector<Step>& steps, bool alike) {
  for (Step& step : steps)
    if (step.is_loop) overlap(step.body, alike);
  if (std::none_of(steps.begin(), steps.end(), communicates)) return;
  const std::vector<Access> access = accesses(steps);
  std::vector<Step> ordered;
  std::vector<Access> ordered_access;
  for (size_t i : Order(steps, access, alike).take()) {
    ordered.push_back(std::move(steps[i]));
    ordered_access.push_back(access[i]);
  }
  steps = std::move(ordered);
  Waits(steps, ordered_access).mark();
}

}  // namespace shardproof::plan
