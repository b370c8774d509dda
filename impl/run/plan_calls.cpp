#include "impl/run/plan_calls.h"

#include <algorithm>
#include <cstdio>
#include <deque>

#include "kernels/fnv1a.h"

namespace shardproof::plan {
namespace {

struct ListedGroup : Group {
  explicit ListedGroup(const std::vector<int>& ranks) : Group(ranks, 0) {}
};

/// Hears what a step says and moves nothing.
class Recorder : public Communicator {
 public:
  explicit Recorder(const std::string& salt) { mix(salt); }

  int rank() const override { return 0; }
  int size() const override { return 0; }
  Group& group(const std::vector<int>&) override { throw std::logic_error("groups are given"); }
  void collective(Group& group, const Call& call, const void*, void*,
                  const std::string& place) override {
    mix(std::to_string(group.size()) + " " + to_string(PlacedCall{call, place}));
  }
  void abort(const std::string&) noexcept override {}

  /// The text and its end.
  void mix(const std::string& text) {
    hash_ = fnv1a(std::string_view("\0", 1), fnv1a(text, hash_));
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = fnv1a("");
};

/// Where a permute goes may be an entry of memory that only a run has, so it is not asked.
bool is_permute(const Step& step) { return step.op == "ppermute"; }

size_t record(const std::vector<Step>& steps, Recorder& recorder, Frame& frame) {
  size_t count = 0;
  for (const Step& step : steps) {
    if (step.is_loop) {
      recorder.mix("loop " + std::to_string(step.times));
      count += static_cast<size_t>(step.times) * record(step.body, recorder, frame);
      recorder.mix("end");
    } else if (is_permute(step)) {
      recorder.mix("permute at " + step.place);
      ++count;
    } else if (is_collective(step)) {
      step.run(frame);
      ++count;
    }
  }
  return count;
}

}  // namespace

PlanCalls calls_of(const std::vector<Step>& steps, size_t buffers, size_t loops,
                   const std::vector<std::vector<int>>& groups, const std::string& salt) {
  Recorder recorder(salt);
  std::byte nothing{};
  std::deque<ListedGroup> listed(groups.begin(), groups.end());
  Frame frame;
  frame.communicator = &recorder;
  frame.buffers.assign(buffers, &nothing);
  frame.loops.resize(loops);
  for (ListedGroup& group : listed) frame.groups.push_back(&group);
  const size_t count = record(steps, recorder, frame);
  return {recorder.hash(), count};
}

const std::string& SpotChecked::before(Collective collective, const Group& group,
                                       const std::string& place) {
  ++made_;
  const bool met = std::find(met_.begin(), met_.end(), &group) != met_.end();
  inner().check_calls(!met || collective == Collective::permute);
  if (met) return place;
  met_.push_back(&group);
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(calls_.hash));
  compared_place_ = place + " (of a plan whose calls hash to " + hash + ")";
  return compared_place_;
}

void SpotChecked::finish() const {
  if (made_ != calls_.count)
    throw std::logic_error("a run made " + std::to_string(made_) + " collectives, and " +
                           std::to_string(calls_.count) + " were compared");
}

}  // namespace shardproof::plan
