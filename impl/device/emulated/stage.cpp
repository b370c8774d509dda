#include "impl/device/emulated/stage.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardproof::emulated {

void Recording::join(const std::shared_ptr<Line>& line) {
  line->into = shared_from_this();
  parts_.push_back({line, {}});
}

void Recording::add(const std::shared_ptr<Line>& line, Task task) {
  if (task.records) {
    task.records->recorded = true;
    task.records->of = weak_from_this();
  }
  task.owner = line;
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& each) { return each.line == line; });
  part->tasks.push_back(std::move(task));
}

void Recording::end() {
  over_ = true;
  for (Part& part : parts_) part.line->into = nullptr;
}

/// Uses vector clocks: each part has one, and knows the others' progress through events.
bool Recording::is_joined() const {
  using Clock = std::vector<size_t>;
  std::vector<Clock> clocks(parts_.size(), Clock(parts_.size()));
  std::map<const Occurrence*, Clock> events;
  std::vector<size_t> next(parts_.size());
  const auto pass = [&](const Task& task, Clock& clock, size_t part) {
    clock[part] += task.run ? 1 : 0;
    if (task.records) events[task.records.get()] = clock;
    if (!task.waits) return true;
    const auto event = events.find(task.waits.get());
    if (event == events.end()) return false;
    for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], event->second[i]);
    return true;
  };
  for (bool moved = true; std::exchange(moved, false);)
    for (size_t k = 0; k < parts_.size(); ++k)
      while (next[k] < parts_[k].tasks.size() && pass(parts_[k].tasks[next[k]], clocks[k], k))
        moved = ++next[k] > 0;
  for (size_t k = 0; k < parts_.size(); ++k)
    if (clocks[0][k] < clocks[k][k]) return false;
  return true;
}

std::vector<std::deque<Task>> Recording::again() const {
  std::map<const Occurrence*, std::shared_ptr<Occurrence>> events;
  const auto own = [&](const Occurrence* event) {
    std::shared_ptr<Occurrence>& made = events[event];
    if (!made) made = std::make_shared<Occurrence>();
    return made;
  };
  std::vector<std::deque<Task>> parts;
  for (const Part& part : parts_) {
    parts.push_back(part.tasks);
    for (Task& task : parts.back()) {
      if (task.records) task.records = own(task.records.get());
      if (task.waits) task.waits = own(task.waits.get());
    }
  }
  return parts;
}

std::shared_ptr<Line> Stage::line() {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::make_shared<Line>());
  return lines_.back();
}

void Stage::end(const std::shared_ptr<Line>& line) {
  finish(*line);
  const std::lock_guard lock(mutex_);
  std::erase(lines_, line);
}

void Stage::add(const std::shared_ptr<Line>& line, Task task) {
  const std::lock_guard lock(mutex_);
  if (task.waits) meet(line, *task.waits);
  line->into ? line->into->add(line, std::move(task)) : line->tasks.push_back(std::move(task));
}

/// A line that waits for a recorded event joins the recording.
void Stage::meet(const std::shared_ptr<Line>& line, const Occurrence& event) {
  const std::shared_ptr<Recording> of = event.of.lock();
  if (line->into == of && event.recorded == (line->into != nullptr)) return;
  if (line->into || !of || of->is_over())
    throw DeviceError("emulator: a queue waits for an event of a recording that is not its own");
  of->join(line);
}

std::string Stage::finish(Line& line) {
  const std::lock_guard lock(mutex_);
  if (line.into) return "a queue that is recorded is finished";
  while (!line.tasks.empty()) step(line);
  return std::exchange(line.error, "");
}

void Stage::step(Line& wanted) {
  std::vector<Line*> able;
  for (const std::shared_ptr<Line>& each : lines_)
    if (!each->tasks.empty() && (!each->tasks[0].waits || each->tasks[0].waits->happened))
      able.push_back(each.get());
  if (able.empty()) {  // an event is recorded before it is waited for, so its task is queued
    wanted.tasks.clear();
    wanted.error = "the queues wait for each other";
    return;
  }
  Line& line = *able[rng_() % able.size()];
  const Task task = std::move(line.tasks.front());
  line.tasks.pop_front();
  if (task.records) task.records->happened = true;
  if (task.run) run(task, line);
}

void Stage::run(const Task& task, Line& line) {
  try {
    task.run();
  } catch (const std::exception& error) {
    std::string& said = (task.owner ? *task.owner : line).error;
    if (said.empty()) said = error.what();
  }
}

std::shared_ptr<Recording> Stage::begin_recording(const std::shared_ptr<Line>& origin) {
  const std::lock_guard lock(mutex_);
  if (origin->into) throw DeviceError("emulator: a queue is recorded twice at once");
  auto recording = std::make_shared<Recording>();
  recording->join(origin);
  return recording;
}

void Stage::end_recording(Recording& recording, bool complete) {
  const std::lock_guard lock(mutex_);
  recording.end();
  if (complete && !recording.is_joined())
    throw DeviceError("emulator: a recording ends before a queue that has joined it");
}

void Stage::give(const Recording& recording, Line& line) {
  const std::lock_guard lock(mutex_);
  std::erase_if(lines_, [](const auto& each) { return each->of_graph && each->tasks.empty(); });
  std::vector<std::deque<Task>> parts = recording.again();
  for (Task& task : parts[0]) line.tasks.push_back(std::move(task));
  for (size_t k = 1; k < parts.size(); ++k) {
    lines_.push_back(std::make_shared<Line>());
    lines_.back()->of_graph = true;
    lines_.back()->tasks = std::move(parts[k]);
  }
}

}  // namespace shardproof::emulated
