#include "impl/steps/overlap.h"

#include <algorithm>
#include <deque>

namespace shardproof::exec {
namespace {

constexpr size_t most_under_way = 2;
constexpr size_t look_ahead = 128;       ///< steps that a collective is moved over at most
constexpr size_t most_moved_along = 16;  ///< steps that make its operand

/// Worth waiting for: a collective does not take it along when it is moved.
bool is_heavy(const Step& step) {
  return step.is_loop || is_collective(step) || step.op == "einsum";
}

/// The order of a block's steps.
class Order {
 public:
  Order(const std::vector<Step>& steps, const std::vector<Access>& access)
      : steps_(steps), access_(access), done_(steps.size()) {
    for (size_t i = 0; i < steps.size(); ++i)
      if (communicates(steps[i])) collectives_.push_back(i);
  }

  std::vector<size_t> take() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (done_[i]) continue;
      begin_what_is_ready(i);
      if (!done_[i]) emit(i);
    }
    return std::move(order_);
  }

 private:
  void begin_what_is_ready(size_t now) {
    std::vector<size_t> along;
    while (under_way_.size() < most_under_way && !collectives_.empty() &&
           can_begin(now, collectives_.front(), along)) {
      const size_t collective = collectives_.front();
      for (size_t i = along.size(); i-- > 0;) emit(along[i]);
      emit(collective);
    }
  }

  /// `along`: the steps that have to come before it, the last first.
  bool can_begin(size_t now, size_t collective, std::vector<size_t>& along) const {
    along.clear();
    if (steps_[collective].is_loop || collective > now + look_ahead) return false;
    for (size_t i = collective; i-- > now;) {
      if (done_[i] || !before(i, collective, along)) continue;
      if (is_heavy(steps_[i]) || along.size() == most_moved_along) return false;
      along.push_back(i);
    }
    return true;
  }

  bool before(size_t i, size_t collective, const std::vector<size_t>& along) const {
    return conflict(access_[i], access_[collective]) ||
           std::any_of(along.begin(), along.end(),
                       [&](size_t each) { return conflict(access_[i], access_[each]); });
  }

  void emit(size_t i) {
    done_[i] = true;
    order_.push_back(i);
    const bool collective = communicates(steps_[i]);
    if (collective) collectives_.pop_front();
    if (collective && steps_[i].is_loop) return under_way_.clear();
    if (collective) return under_way_.push_back(i);
    for (size_t k = under_way_.size(); k-- > 0;)
      if (conflict(access_[i], access_[under_way_[k]])) {
        under_way_.erase(under_way_.begin(),
                         under_way_.begin() + static_cast<std::ptrdiff_t>(k + 1));
        break;
      }
  }

  const std::vector<Step>& steps_;
  const std::vector<Access>& access_;
  std::vector<bool> done_;
  std::vector<size_t> order_;
  std::deque<size_t> collectives_;  ///< not yet begun
  std::vector<size_t> under_way_;   ///< as far as is known here
};

/// Says which collectives are started, and who waits. One that the next step would wait for is run
/// in place, when all before it have ended.
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

  /// So many of those under way, from the first on.
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

void overlap(std::vector<Step>& steps) {
  for (Step& step : steps)
    if (step.is_loop) overlap(step.body);
  if (std::none_of(steps.begin(), steps.end(), communicates)) return;
  const std::vector<Access> access = accesses(steps);
  std::vector<Step> ordered;
  std::vector<Access> ordered_access;
  for (size_t i : Order(steps, access).take()) {
    ordered.push_back(std::move(steps[i]));
    ordered_access.push_back(access[i]);
  }
  steps = std::move(ordered);
  Waits(steps, ordered_access).mark();
}

bool has_starts(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return step.starts || has_starts(step.body); });
}

}  // namespace shardproof::exec
