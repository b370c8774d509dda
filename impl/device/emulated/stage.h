#pragma once
// The streams of the emulated device. The next task is drawn at random among those that events
// allow.
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "impl/device/device.h"

namespace shardproof::emulated {

class Recording;

struct Occurrence : Event, std::enable_shared_from_this<Occurrence> {
  bool happened = false;
  bool recorded = false;  ///< it happens only in runs of the graph
  std::weak_ptr<Recording> of;
};

struct Line;

/// Runs code, signals an event, or waits for one.
struct Task {
  std::function<void()> run = {};
  std::shared_ptr<Occurrence> records = {};
  std::shared_ptr<const Occurrence> waits = {};
  std::shared_ptr<Line> owner = {};  ///< receives its error; null: the line that runs it
};

/// A stream.
struct Line {
  std::deque<Task> tasks;
  std::string error;  ///< the first error, for finish()
  std::shared_ptr<Recording> into;
  bool of_graph = false;  ///< for one run of a graph; accepts no more work
};

/// What is enqueued while a line is recorded: part 0 is that line, the others are lines that joined
/// it by an event.
class Recording : public std::enable_shared_from_this<Recording> {
 public:
  void join(const std::shared_ptr<Line>& line);
  void add(const std::shared_ptr<Line>& line, Task task);
  /// The lines run new work again.
  void end();
  bool is_over() const { return over_; }
  /// Whether part 0 has waited for all others.
  bool is_joined() const;
  /// A copy of each part's tasks, with new events.
  std::vector<std::deque<Task>> again() const;

 private:
  struct Part {
    std::shared_ptr<Line> line;
    std::deque<Task> tasks;
  };
  std::vector<Part> parts_;
  bool over_ = false;
};

/// Throws DeviceError for what CUDA refuses during stream capture.
class Stage {
 public:
  explicit Stage(uint64_t seed) : rng_(seed) {}

  std::shared_ptr<Line> line();
  void end(const std::shared_ptr<Line>& line);
  void add(const std::shared_ptr<Line>& line, Task task);
  /// The error of the line; empty if there is none.
  std::string finish(Line& line);

  std::shared_ptr<Recording> begin_recording(const std::shared_ptr<Line>& origin);
  /// `complete`: no rank has failed meanwhile.
  void end_recording(Recording& recording, bool complete);
  /// Enqueues part 0 on this line, and the others on lines of their own.
  void give(const Recording& recording, Line& line);

 private:
  static void meet(const std::shared_ptr<Line>& line, const Occurrence& event);
  void step(Line& wanted);
  void run(const Task& task, Line& line);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Line>> lines_;
  std::mt19937_64 rng_;
};

}  // namespace shardproof::emulated
