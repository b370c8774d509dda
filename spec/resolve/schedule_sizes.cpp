// The sizes at which a pipeline's schedule is checked.
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "spec/resolve/schedules.h"
#include "spec/schedule/schedule.h"

namespace shardproof::resolution {
namespace {

std::optional<int64_t> whole_number(const ir::Arith& arith, const std::map<Name, int64_t>& sizes) {
  try {
    const double value = ir::evaluate(arith, sizes);
    if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  } catch (const std::domain_error&) {
  }
  return std::nullopt;
}

/// Enumerates all combinations of small values for the sizes that are not fixed.
class SmallSizes {
 public:
  SmallSizes(World& world, const syntax::ScheduleDecl& schedule, const ScheduleSizes& sizes)
      : program_(world.program),
        sizes_(sizes),
        schedule_(schedule),
        steps_(schedule, &world.schedule_steps),
        checked_(world.right_when_small.contains(&schedule)) {}

  /// The name of a size that an argument needs and that has no bound; empty if there is none.
  Name bound() {
    std::set<Name> p, a, chunks, arguments;
    p.merge(ir::sizes_in(sizes_.p));
    a.merge(ir::sizes_in(sizes_.A));
    for (const ir::Arith& each : sizes_.chunks) chunks.merge(ir::sizes_in(each));
    for (const ir::Arith& each : sizes_.arguments) arguments.merge(ir::sizes_in(each));
    for (const Name& name : p) add(name, 16);
    for (const Name& name : a) add(name, a.size() == 1 ? 64 : 8);
    for (const Name& name : chunks) add(name, 4);
    for (const Name& name : arguments) {
      if (const auto axis = program_.axes.find(name);
          axis != program_.axes.end() && axis->second.size)
        at_[name] = *axis->second.size;
      if (!known(name)) return name;
    }
    return "";
  }

  std::optional<schedule::Problem> each(size_t i = 0) {
    if (i == open_.size()) return one();
    for (int64_t size = 1; size <= open_[i].second; ++size) {
      at_[open_[i].first] = size;
      if (auto found = each(i + 1)) return found;
    }
    return std::nullopt;
  }

  std::map<Name, int64_t> open() const { return {open_.begin(), open_.end()}; }

 private:
  bool known(const Name& name) const {
    return at_.count(name) || std::any_of(open_.begin(), open_.end(),
                                          [&](const auto& each) { return each.first == name; });
  }

  void add(const Name& name, int64_t most) {
    if (known(name)) return;
    const auto axis = program_.axes.find(name);
    if (axis != program_.axes.end() && axis->second.size)
      at_[name] = *axis->second.size;
    else
      open_.push_back({name, most});
  }

  std::optional<schedule::Problem> one() const {
    const auto p = whole_number(sizes_.p, at_), a = whole_number(sizes_.A, at_);
    if (!p || !a || *p < 1 || *a < 1) return std::nullopt;
    schedule::Sizes at{*p, *a, 1, {}};
    for (const ir::Arith& each : sizes_.chunks) {
      const auto c = whole_number(each, at_);
      if (!c || *c < 1) return std::nullopt;
      at.C *= *c;
    }
    for (const ir::Arith& each : sizes_.arguments) {
      const auto value = whole_number(each, at_);
      if (!value) return std::nullopt;
      at.arguments.push_back(*value);
    }
    if (checked_ && schedule::is_of_all(schedule_, at)) return std::nullopt;
    return schedule::check(steps_, at);
  }

  const ir::Program& program_;
  const ScheduleSizes& sizes_;
  const syntax::ScheduleDecl& schedule_;
  schedule::Program steps_;
  bool checked_;  ///< at the sizes of check_all
  std::map<Name, int64_t> at_;
  std::vector<std::pair<Name, int64_t>> open_;
};

}  // namespace

ScheduleRuns run_schedule(World& world, const syntax::ScheduleDecl& schedule,
                          const ScheduleSizes& sizes) {
  try {
    SmallSizes small(world, schedule, sizes);
    if (const Name open = small.bound(); !open.empty()) {
      Diagnostic error;
      error.code = "E0106";
      error.message = "the schedule `" + schedule.name + "` depends on |" + open +
                      "|, which the file leaves open";
      return {{}, std::move(error)};
    }
    if (const auto problem = small.each())
      return {{}, schedule::diagnostic_of(*problem, schedule.name)};
    return {small.open(), std::nullopt};
  } catch (const schedule::Problem& problem) {
    return {{}, schedule::diagnostic_of({problem.code, problem.message, {}}, schedule.name)};
  }
}

}  // namespace shardproof::resolution
