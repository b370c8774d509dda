// Simulates stages that send to their neighbours through bounded queues, each as early as possible.
#include <algorithm>

#include "spec/schedule/schedule.h"

namespace shardproof::schedule {
namespace {

constexpr size_t none = static_cast<size_t>(-1);

/// The messages of one direction into one stage, in sending order.
struct Queue {
  std::vector<size_t> keys;         // the receiver's microbatch and chunk
  size_t reads = 0;                 // of keys
  std::vector<int64_t> sent, read;  // times
};

struct Stage {
  size_t next = 0;  // in the timeline
  int64_t time = 0;
  size_t queue = none;  // index of the queue of a message being sent, and its number
  size_t message = 0;
  int64_t kept = 0;
};

class Simulation {
 public:
  Simulation(const std::vector<Timeline>& lines, const Sizes& sizes, const Durations& durations,
             int64_t depth, SourceRange schedule, bool timed)
      : lines_(lines),
        sizes_(sizes),
        durations_(durations),
        depth_(static_cast<size_t>(std::max<int64_t>(depth, 1))),
        schedule_(schedule),
        timed_(timed),
        stages_(lines.size()),
        queues_(2 * lines.size()) {
    for (Queue& each : queues_) each.keys.reserve(static_cast<size_t>(sizes.A * sizes.C));
    Run& run = outcome_.run;
    run.stages.resize(lines.size());
    run.peak.assign(lines.size(), 0);
    run.has_w = !lines.empty() && std::any_of(lines[0].begin(), lines[0].end(),
                                              [](const Work& work) { return work.kind == 'W'; });
    if (lines.size() == 1) done_.assign(2 * static_cast<size_t>(sizes.A * sizes.C), false);
  }

  Outcome run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = 0; s < stages_.size(); ++s)
        while (advance(s)) moved = true;
    }
    for (size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].next < lines_[s].size() || stages_[s].queue != none) {
        outcome_.problem = stuck(s);
        break;
      }
      outcome_.run.end = std::max(outcome_.run.end, stages_[s].time);
    }
    return std::move(outcome_);
  }

 private:
  size_t p() const { return lines_.size(); }
  bool last(size_t s, int64_t c) const { return s + 1 == p() && c + 1 == sizes_.C; }
  static bool first(size_t s, int64_t c) { return s == 0 && c == 0; }
  size_t key(int64_t m, int64_t c) const { return static_cast<size_t>(m * sizes_.C + c); }
  size_t queue(char kind, size_t receiver) const { return receiver * 2 + (kind == 'B'); }

  bool receives(size_t s, const Work& work) const {
    return work.kind == 'F' ? !first(s, work.c) : work.kind == 'B' && !last(s, work.c);
  }
  bool sends(size_t s, const Work& work) const {
    return work.kind == 'F' ? !last(s, work.c) : work.kind == 'B' && !first(s, work.c);
  }

  bool advance(size_t s) {
    Stage& stage = stages_[s];
    if (stage.queue != none) return finish_send(stage);
    if (stage.next >= lines_[s].size()) return false;
    const Work& work = lines_[s][stage.next];
    int64_t begin = stage.time;
    if (receives(s, work) && !receive(s, work, begin)) return false;
    begin_work(s, work, begin);
    return true;
  }

  bool finish_send(Stage& stage) {
    const Queue& queue = queues_[stage.queue];
    if (stage.message >= depth_) {
      if (queue.reads <= stage.message - depth_) return false;
      if (timed_) stage.time = std::max(stage.time, queue.read[stage.message - depth_]);
    }
    stage.queue = none;
    return true;
  }

  bool receive(size_t s, const Work& work, int64_t& begin) {
    if (p() == 1) return done_[own(work.kind, work.m, work.c + (work.kind == 'F' ? -1 : 1))];
    Queue& from = queues_[queue(work.kind, s)];
    const size_t next = from.reads;
    if (next >= from.keys.size() || from.keys[next] != key(work.m, work.c)) return false;
    ++from.reads;
    if (!timed_) return true;
    begin = std::max(begin, from.sent[next]);
    from.read.push_back(begin);
    return true;
  }

  size_t own(char kind, int64_t m, int64_t c) const { return 2 * key(m, c) + (kind == 'B'); }

  void begin_work(size_t s, const Work& work, int64_t begin) {
    Stage& stage = stages_[s];
    ++stage.next;
    if (timed_) record(s, work, begin);
    if (work.kind == 'F') outcome_.run.peak[s] = std::max(outcome_.run.peak[s], ++stage.kept);
    if (work.kind == (outcome_.run.has_w ? 'W' : 'B')) --stage.kept;
    if (p() == 1 && work.kind != 'W') done_[own(work.kind, work.m, work.c)] = true;
    if (p() > 1 && sends(s, work)) send(s, work);
  }

  void record(size_t s, const Work& work, int64_t begin) {
    const int64_t extra = outcome_.run.has_w ? 0 : durations_.w;
    const int64_t time = work.kind == 'F'   ? durations_.f
                         : work.kind == 'B' ? durations_.b + extra
                                            : durations_.w;
    stages_[s].time = begin + time;
    std::vector<Timed>& all = outcome_.run.stages[s];
    if (all.empty()) all.reserve(lines_[s].size());
    all.push_back({work, begin, stages_[s].time});
  }

  void send(size_t s, const Work& work) {
    const bool forward = work.kind == 'F';
    const size_t receiver = forward ? (s + 1) % p() : (s + p() - 1) % p();
    const int64_t chunk = forward ? work.c + (s + 1 == p()) : work.c - (s == 0);
    Stage& stage = stages_[s];
    stage.queue = queue(work.kind, receiver);
    Queue& to = queues_[stage.queue];
    stage.message = to.keys.size();
    to.keys.push_back(key(work.m, chunk));
    if (timed_) to.sent.push_back(stage.time);
  }

  // --- deadlocks ---

  std::string text(const Work& work) const { return to_string(work, sizes_.C); }
  std::string text(char kind, size_t key) const {
    const auto at = static_cast<int64_t>(key);
    return text(Work{kind, at / sizes_.C, at % sizes_.C, {}});
  }
  static std::string name(size_t s) { return "stage " + std::to_string(s); }

  /// What a stage waits for, as text, and the stage that must act first.
  std::pair<std::string, size_t> wait(size_t s) const {
    const Stage& stage = stages_[s];
    if (stage.queue != none) {
      const size_t receiver = stage.queue / 2;
      const Queue& to = queues_[stage.queue];
      return {name(s) + " has finished " + text(lines_[s][stage.next - 1]) +
                  ", and cannot send before " + name(receiver) + " reads " +
                  text(stage.queue % 2 ? 'B' : 'F', to.keys[stage.message - depth_]),
              receiver};
    }
    const Work& work = lines_[s][stage.next];
    const size_t sender = work.kind == 'F' ? (s + p() - 1) % p() : (s + 1) % p();
    std::string what = name(s) + " at step " + std::to_string(stage.next + 1) + ", " + text(work) +
                       ", waits for " + name(sender);
    const Queue& from = queues_[queue(work.kind, s)];
    if (p() > 1 && from.reads < from.keys.size())
      what += ", whose next message is for " + text(work.kind, from.keys[from.reads]);
    else if (stages_[sender].next < lines_[sender].size())
      what += ", which is at " + text(lines_[sender][stages_[sender].next]);
    return {what, sender};
  }

  bool crossed(size_t s) const {
    const Stage& stage = stages_[s];
    if (p() == 1 || stage.queue != none || stage.next >= lines_[s].size()) return false;
    const Work& work = lines_[s][stage.next];
    const Queue& from = queues_[queue(work.kind, s)];
    return receives(s, work) && from.reads < from.keys.size();
  }

  SourceRange range_at(size_t s) const {
    const Stage& stage = stages_[s];
    const size_t at = stage.queue != none ? stage.next - 1 : stage.next;
    return at < lines_[s].size() ? lines_[s][at].range : schedule_;
  }

  Problem stuck(size_t s) const {
    const std::string sizes = "p = " + std::to_string(sizes_.p) +
                              ", A = " + std::to_string(sizes_.A) +
                              (sizes_.C > 1 ? ", C = " + std::to_string(sizes_.C) : "");
    for (size_t t = s; t < p(); ++t)
      if (crossed(t))
        return {"E0504",
                "with " + sizes + " one stage reads messages in another order than they are sent",
                range_at(t),
                {wait(t).first}};
    std::vector<size_t> path;
    while (std::find(path.begin(), path.end(), s) == path.end()) {
      path.push_back(s);
      s = wait(s).second;
      if (stages_[s].next >= lines_[s].size() && stages_[s].queue == none) break;
    }
    Problem result{"E0504", "with " + sizes + " the stages deadlock", range_at(s)};
    auto begin = std::find(path.begin(), path.end(), s);
    for (auto each = begin == path.end() ? path.begin() : begin; each != path.end(); ++each)
      result.details.push_back(wait(*each).first);
    return result;
  }

  const std::vector<Timeline>& lines_;
  const Sizes& sizes_;
  const Durations& durations_;
  size_t depth_;
  SourceRange schedule_;
  bool timed_;
  std::vector<Stage> stages_;
  std::vector<Queue> queues_;
  std::vector<bool> done_;  // of one stage
  Outcome outcome_;
};

}  // namespace

Outcome simulate(const std::vector<Timeline>& stages, const Sizes& sizes,
                 const Durations& durations, int64_t depth, SourceRange schedule) {
  return Simulation(stages, sizes, durations, depth, schedule, true).run();
}

std::optional<Problem> deadlock(const std::vector<Timeline>& stages, const Sizes& sizes,
                                int64_t depth, SourceRange schedule) {
  return Simulation(stages, sizes, {}, depth, schedule, false).run().problem;
}

double Run::idle() const {
  int64_t busy = 0;
  for (const auto& stage : stages)
    for (const Timed& each : stage) busy += each.end - each.begin;
  const double all = static_cast<double>(end) * static_cast<double>(stages.size());
  return all > 0 ? 1 - static_cast<double>(busy) / all : 0;
}

}  // namespace shardproof::schedule
