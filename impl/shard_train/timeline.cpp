#include "impl/shard_train/timeline.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "impl/comm/gather_texts.h"

namespace shardproof::shard_train {
namespace {

using schedule::Timed;

/// Machines' clocks have different origins: times are relative to the rank's "now", which all ranks
/// take at the same moment.
std::string told(const std::vector<Timed>& timeline, Communicator& communicator) {
  gather_texts(communicator, "", "the timelines of stages");
  const int64_t now =
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::ostringstream out;
  for (const Timed& each : timeline)
    out << each.work.kind << " " << each.work.m << " " << each.work.c << " "
        << (each.begin - now) / 1000 << " " << (each.end - now) / 1000 << "\n";
  return out.str();
}

std::vector<Timed> read(const std::string& text) {
  std::vector<Timed> timeline;
  std::istringstream in(text);
  for (Timed each; in >> each.work.kind >> each.work.m >> each.work.c >> each.begin >> each.end;)
    timeline.push_back(each);
  return timeline;
}

/// The order of a stage's work; work that was split counts once.
schedule::Timeline order_of(const std::vector<Timed>& timeline) {
  schedule::Timeline order;
  const auto same = [](const schedule::Work& a, const schedule::Work& b) {
    return a.kind == b.kind && a.m == b.m && a.c == b.c;
  };
  for (const Timed& each : timeline)
    if (std::none_of(order.begin(), order.end(),
                     [&](const schedule::Work& done) { return same(done, each.work); }))
      order.push_back(each.work);
  return order;
}

void start_at_zero(schedule::Run& run) {
  int64_t begin = INT64_MAX;
  for (const auto& stage : run.stages)
    for (const Timed& each : stage) begin = std::min(begin, each.begin);
  for (auto& stage : run.stages)
    for (Timed& each : stage) {
      each.begin -= begin;
      each.end -= begin;
      run.end = std::max(run.end, each.end);
      run.has_w = run.has_w || each.work.kind == 'W';
    }
}

}  // namespace

std::optional<MeasuredStages> measured_stages(const Plan& step, const Mesh& mesh,
                                              Communicator& communicator) {
  if (!step.stage_axis()) return std::nullopt;
  const std::vector<std::string> all =
      gather_texts(communicator, told(step.timeline(), communicator), "the timelines of stages");
  if (communicator.rank() != 0) return std::nullopt;
  MeasuredStages result;
  for (const int rank : mesh.along(0, {*step.stage_axis()}))
    result.run.stages.push_back(read(all.at(static_cast<size_t>(rank))));
  start_at_zero(result.run);
  schedule::Sizes sizes;
  sizes.p = static_cast<int64_t>(result.run.stages.size());
  std::vector<schedule::Timeline> lines;
  std::map<char, int64_t> time, count;
  for (const auto& stage : result.run.stages) {
    lines.push_back(order_of(stage));
    for (const Timed& each : stage) time[each.work.kind] += each.end - each.begin;
    for (const schedule::Work& each : lines.back()) {
      ++count[each.kind];
      sizes.A = std::max(sizes.A, each.m + 1);
      sizes.C = std::max(sizes.C, each.c + 1);
    }
  }
  const auto mean = [&](char kind) {
    return count[kind] > 0 ? std::max<int64_t>(time[kind] / count[kind], 1) : 1;
  };
  result.chunks = sizes.C;
  result.mean = {mean('F'), mean('B'), mean('W')};
  result.model = schedule::simulate(lines, sizes, result.mean, 1, {}).run.idle();
  return result;
}

}  // namespace shardproof::shard_train
