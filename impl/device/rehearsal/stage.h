#pragma once
// The queues of the rehearsed device: who goes on is drawn, among those that events allow.
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "impl/device/device.h"

namespace shardproof::rehearsal {

class Recording;

struct Occurrence : Event, std::enable_shared_from_this<Occurrence> {
  bool happened = false;
  bool recorded = false;  ///< it happens in the runs of a graph alone
  std::weak_ptr<Recording> of;
};

struct Line;

/// Runs, happens, or waits for something to happen.
struct Task {
  std::function<void()> run = {};
  std::shared_ptr<Occurrence> records = {};
  std::shared_ptr<const Occurrence> waits = {};
  std::shared_ptr<Line> owner = {};  ///< who hears of its error; none: the line where it is
};

/// A queue.
struct Line {
  std::deque<Task> tasks;
  std::string error;  ///< the first, of finish()
  std::shared_ptr<Recording> into;
  bool of_graph = false;  ///< of one run; it grows no further
};

/// What lines are given while one of them is recorded: the first part is its own, the others are of
/// those that have joined it by an event.
class Recording : public std::enable_shared_from_this<Recording> {
 public:
  void join(const std::shared_ptr<Line>& line);
  void add(const std::shared_ptr<Line>& line, Task task);
  /// The lines are given work as before.
  void end();
  bool is_over() const { return over_; }
  /// Whether the first part has waited for all.
  bool is_joined() const;
  /// The tasks of each part once more, with events of their own.
  std::vector<std::deque<Task>> again() const;

 private:
  struct Part {
    std::shared_ptr<Line> line;
    std::deque<Task> tasks;
  };
  std::vector<Part> parts_;
  bool over_ = false;
};

/// Throws DeviceError for what CUDA refuses of streams that are recorded.
class Stage {
 public:
  explicit Stage(uint64_t seed) : rng_(seed) {}

  std::shared_ptr<Line> line();
  void end(const std::shared_ptr<Line>& line);
  void add(const std::shared_ptr<Line>& line, Task task);
  /// What went wrong on it; empty: nothing.
  std::string finish(Line& line);

  std::shared_ptr<Recording> begin_recording(const std::shared_ptr<Line>& origin);
  /// `complete`: no rank has failed meanwhile.
  void end_recording(Recording& recording, bool complete);
  /// Gives this line the first part, and the others to lines of their own.
  void give(const Recording& recording, Line& line);

 private:
  static void meet(const std::shared_ptr<Line>& line, const Occurrence& event);
  void step(Line& wanted);
  void run(const Task& task, Line& line);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Line>> lines_;
  std::mt19937_64 rng_;
};

}  // namespace shardproof::rehearsal
