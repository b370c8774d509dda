#include "impl/plan/queues.h"

#include <deque>

#include "impl/plan/walk.h"

namespace shardproof::plan {
namespace {

class CommandWriter : public Executor {
 public:
  std::vector<Command> take() { return std::move(commands_); }

  void set_index(size_t loop, int64_t value) override {
    add({.kind = Command::Kind::index, .loop = loop, .value = value});
  }
  void run(const Step& step) override { add({.step = &step}); }

  void start(const Step& step) override {
    add({.kind = Command::Kind::record, .queue = compute_queue, .event = events_});
    add({.kind = Command::Kind::wait, .queue = collective_queue, .event = events_++});
    add({.queue = collective_queue, .step = &step});
    add({.kind = Command::Kind::record, .queue = collective_queue, .event = events_});
    under_way_.push_back(events_++);
  }

  /// The collective stream is in order: waiting for an event covers all earlier ones.
  void wait(size_t but) override {
    if (under_way_.size() <= but) return;
    const size_t last = under_way_[under_way_.size() - but - 1];
    under_way_.erase(under_way_.begin(), under_way_.end() - static_cast<std::ptrdiff_t>(but));
    add({.kind = Command::Kind::wait, .queue = compute_queue, .event = last});
  }

 private:
  void add(const Command& command) { commands_.push_back(command); }

  std::vector<Command> commands_;
  std::deque<size_t> under_way_;  ///< end events of started collectives
  size_t events_ = 0;
};

}  // namespace

std::vector<Command> commands_of(const std::vector<Step>& steps, int64_t most_times) {
  CommandWriter writer;
  walk(steps, writer, most_times);
  return writer.take();
}

}  // namespace shardproof::plan
