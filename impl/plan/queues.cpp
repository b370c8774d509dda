#include "impl/plan/queues.h"

#include <algorithm>
#include <deque>

namespace shardproof::plan {
namespace {

class Writer {
 public:
  explicit Writer(int64_t most_times) : most_times_(most_times) {}

  std::vector<Command> take(const std::vector<Step>& steps) {
    block(steps);
    wait(0);
    return std::move(commands_);
  }

 private:
  void block(const std::vector<Step>& steps) {
    bool started = false;
    for (const Step& step : steps) {
      if (step.waits) wait(*step.waits);
      started = started || step.starts;
      if (step.starts)
        start(step);
      else if (step.is_loop)
        loop(step);
      else
        add({.step = &step});
    }
    if (started) wait(0);
  }

  void loop(const Step& step) {
    for (int64_t i = 0; i < std::min(step.times, most_times_); ++i) {
      add({.kind = Command::Kind::index,
           .loop = step.loop,
           .value = step.reverse ? step.times - 1 - i : i});
      block(step.body);
    }
  }

  void start(const Step& step) {
    add({.kind = Command::Kind::record, .queue = compute_queue, .event = events_});
    add({.kind = Command::Kind::wait, .queue = collective_queue, .event = events_++});
    add({.queue = collective_queue, .step = &step});
    add({.kind = Command::Kind::record, .queue = collective_queue, .event = events_});
    under_way_.push_back(events_++);
  }

  /// The collective queue does its work in order: who waits for one has waited for those before.
  void wait(size_t but) {
    if (under_way_.size() <= but) return;
    const size_t last = under_way_[under_way_.size() - but - 1];
    under_way_.erase(under_way_.begin(), under_way_.end() - static_cast<std::ptrdiff_t>(but));
    add({.kind = Command::Kind::wait, .queue = compute_queue, .event = last});
  }

  void add(const Command& command) { commands_.push_back(command); }

  const int64_t most_times_;
  std::vector<Command> commands_;
  std::deque<size_t> under_way_;  ///< the events behind started collectives
  size_t events_ = 0;
};

}  // namespace

std::vector<Command> commands_of(const std::vector<Step>& steps, int64_t most_times) {
  return Writer(most_times).take(steps);
}

void give(const std::vector<Command>& commands, Frame& frame, const std::vector<Queue*>& queues,
          const std::function<void(const Step&)>& launch) {
  std::vector<std::shared_ptr<Event>> events;
  for (const Command& command : commands) switch (command.kind) {
      case Command::Kind::launch:
        frame.queue = queues.at(command.queue);
        launch(*command.step);
        break;
      case Command::Kind::record:
        events.push_back(queues.at(command.queue)->record());
        break;
      case Command::Kind::wait:
        queues.at(command.queue)->wait(*events.at(command.event));
        break;
      case Command::Kind::index:
        frame.loops[command.loop] = command.value;
        break;
    }
}

}  // namespace shardproof::plan
