// The memory of a plan, step by step: what it holds, and who may still be at it.
#include <deque>
#include <set>

#include "impl/steps/overlap.h"

namespace shardproof::exec {
namespace {

class Memory {
 public:
  Memory(const std::vector<Piece>& pieces, const std::vector<BufferId>& given)
      : pieces_(pieces), given_(given.begin(), given.end()), held_(given_) {}

  void walk(const std::vector<Step>& steps) {
    const size_t before = under_way_.size();
    for (const Step& step : steps) {
      if (!race_.empty()) return;
      if (step.waits) wait(*step.waits);
      if (step.is_loop) {
        // What an iteration leaves behind meets the next one.
        for (int64_t i = 0; i < std::min<int64_t>(step.times, 2); ++i) walk(step.body);
        if (step.times == 0) hold(step);  // nothing is read of it
        continue;
      }
      if (!step.starts) meet_those_under_way(step);
      read(step);
      hold(step);
      if (step.starts) under_way_.push_back(&step);
    }
    if (under_way_.size() > before) wait(0);
  }

  const std::string& race() const { return race_; }

 private:
  void wait(size_t but) {
    while (under_way_.size() > but) under_way_.pop_front();
  }

  void meet_those_under_way(const Step& step) {
    for (const Step* other : under_way_) {
      for (BufferId id : step.reads)
        if (meets(id, other->writes)) found(step, "reads", id, " that is written by ", other);
      for (BufferId id : step.writes)
        if (meets(id, other->writes) || meets(id, other->reads))
          found(step, "writes", id, " that is used by ", other);
    }
    if (is_collective(step) && !under_way_.empty())
      found(step, "overtakes", 0, " and others: ", under_way_.front());
  }

  void read(const Step& step) {
    for (BufferId id : step.reads)
      if (!held_.contains(id) && bytes(id)) found(step, "reads", id, " that nobody has written");
  }

  void hold(const Step& step) {
    for (BufferId id : step.writes) {
      if (id >= pieces_.size()) continue;
      std::erase_if(held_, [&](BufferId other) { return other != id && same_place(id, other); });
      held_.insert(id);
    }
  }

  size_t bytes(BufferId id) const { return id < pieces_.size() ? pieces_[id].bytes : 0; }

  bool same_place(BufferId a, BufferId b) const {
    if (a == b) return true;
    if (given_.contains(a) || given_.contains(b) || !bytes(a) || !bytes(b)) return false;
    const Piece &x = pieces_.at(a), &y = pieces_.at(b);
    return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  bool meets(BufferId id, const std::vector<BufferId>& others) const {
    for (BufferId other : others)
      if (same_place(id, other)) return true;
    return false;
  }

  void found(const Step& step, const char* does, BufferId id, const std::string& what,
             const Step* other = nullptr) {
    if (!race_.empty()) return;
    race_ = step.op + " at " + step.place + " " + does + " buffer " + std::to_string(id) + what;
    if (other) race_ += other->op + " at " + other->place + ", which nobody has waited for";
  }

  const std::vector<Piece>& pieces_;
  const std::set<BufferId> given_;
  std::set<BufferId> held_;
  std::deque<const Step*> under_way_;
  std::string race_;
};

}  // namespace

std::string find_race(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given) {
  Memory memory(pieces, given);
  memory.walk(steps);
  return memory.race();
}

}  // namespace shardproof::exec
