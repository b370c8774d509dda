// The memory of a plan, launch by launch: what it holds, and who may still be at it. Each queue has
// a clock, and knows how far the others were when it last heard of them through an event: a launch
// comes after another one exactly if it knows of it.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "impl/plan/queues.h"

namespace shardproof::plan {
namespace {

using Clock = std::array<size_t, queue_count>;

struct Moment {
  size_t queue = 0, time = 0;
  const Step* step = nullptr;
};

/// What last happened to a buffer.
struct Touched {
  std::optional<Moment> write;
  std::array<std::optional<Moment>, queue_count> reads;  ///< the last of each queue
};

class Memory {
 public:
  Memory(const std::vector<Piece>& pieces, const std::vector<BufferId>& given,
         const std::vector<std::pair<BufferId, BufferId>>& same)
      : pieces_(pieces),
        held_(given.begin(), given.end()),
        touched_(pieces.size()),
        meets_(pieces.size()) {
    const std::set<BufferId> outside(given.begin(), given.end());
    std::vector<BufferId> order;
    for (BufferId id = 0; id < pieces.size(); ++id) {
      meets_[id].push_back(id);
      if (pieces[id].bytes && !outside.contains(id)) order.push_back(id);
    }
    std::sort(order.begin(), order.end(),
              [&](BufferId a, BufferId b) { return pieces[a].offset < pieces[b].offset; });
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size() && pieces[order[j]].offset < end_of(order[i]); ++j)
        meet(order[i], order[j]);
    for (const auto& [a, b] : same) meet(a, b);
  }

  std::string walk(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      Clock& clock = clocks_[command.queue];
      if (command.kind == Command::Kind::record) events_.push_back(clock);
      if (command.kind == Command::Kind::wait) {
        const Clock& event = events_.at(command.event);
        for (size_t q = 0; q < queue_count; ++q) clock[q] = std::max(clock[q], event[q]);
      }
      if (command.kind == Command::Kind::launch) launch(command, clock);
      if (!race_.empty()) break;
    }
    return race_;
  }

 private:
  size_t end_of(BufferId id) const { return pieces_[id].offset + pieces_[id].bytes; }
  void meet(BufferId a, BufferId b) {
    meets_.at(a).push_back(b);
    meets_.at(b).push_back(a);
  }

  void launch(const Command& command, Clock& clock) {
    const Moment now{command.queue, ++clock[command.queue], command.step};
    const Step& step = *command.step;
    if (is_collective(step)) {
      if (collective_) require_after(*collective_, now, "overtakes another collective:", 0);
      collective_ = now;
    }
    for (BufferId id : step.reads) read(id, now);
    for (BufferId id : step.writes) write(id, now);
  }

  void read(BufferId id, const Moment& now) {
    if (id >= pieces_.size()) return;
    for (BufferId other : meets_[id])
      if (touched_[other].write)
        require_after(*touched_[other].write, now, "reads what is written by", id);
    if (!held_.contains(id) && pieces_[id].bytes) found(now, "reads what nobody has written", id);
    touched_[id].reads[now.queue] = now;
  }

  void write(BufferId id, const Moment& now) {
    if (id >= pieces_.size()) return;
    for (BufferId other : meets_[id]) {
      if (touched_[other].write)
        require_after(*touched_[other].write, now, "writes what is written by", id);
      for (const std::optional<Moment>& read : touched_[other].reads)
        if (read) require_after(*read, now, "writes what is read by", id);
      if (other != id) held_.erase(other);
    }
    held_.insert(id);
    touched_[id].write = now;
  }

  /// The event that tells it may be missing, or the wait for it.
  void require_after(const Moment& before, const Moment& now, const char* does, BufferId id) {
    if (before.step == now.step && before.time == now.time && before.queue == now.queue) return;
    if (clocks_[now.queue][before.queue] >= before.time) return;
    found(now,
          does + (" " + before.step->op) + " at " + before.step->place +
              ", which nobody has waited for",
          id);
  }

  void found(const Moment& now, const std::string& what, BufferId id) {
    if (race_.empty())
      race_ = now.step->op + " at " + now.step->place + " " + what + " (buffer " +
              std::to_string(id) + ")";
  }

  const std::vector<Piece>& pieces_;
  std::set<BufferId> held_;
  std::vector<Touched> touched_;
  std::vector<std::vector<BufferId>> meets_;  ///< the buffers that share memory with each
  std::array<Clock, queue_count> clocks_{};
  std::vector<Clock> events_;
  std::optional<Moment> collective_;
  std::string race_;
};

}  // namespace

std::string find_race(const std::vector<Command>& commands, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same) {
  return Memory(pieces, given, same).walk(commands);
}

std::string find_race(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                      const std::vector<BufferId>& given,
                      const std::vector<std::pair<BufferId, BufferId>>& same) {
  // What an iteration leaves behind meets the next one.
  return find_race(commands_of(steps, 2), pieces, given, same);
}

}  // namespace shardproof::plan
