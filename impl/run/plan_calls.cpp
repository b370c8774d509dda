#include "impl/run/plan_calls.h"

#include <algorithm>
#include <cstdio>

#include "kernels/fnv1a.h"

namespace shardproof::plan {
namespace {

using Groups = std::vector<std::vector<int>>;

void mix(const std::string& text, uint64_t& hash) {
  hash = fnv1a(std::string_view("\0", 1), fnv1a(text, hash));
}

/// A permute's positions differ between ranks, and may be data.
std::string text_of(const Exchange& exchange, size_t members, const std::string& place) {
  if (exchange.collective == Collective::permute) return "permute at " + place;
  const Call call = exchange.call(static_cast<int>(members), StepContext());
  return std::to_string(members) + " " + to_string(PlacedCall{call, place});
}

size_t mix_all(const std::vector<Step>& steps, const Groups& groups, uint64_t& hash) {
  size_t count = 0;
  for (const Step& step : steps) {
    if (step.is_loop) {
      mix("loop " + std::to_string(step.times), hash);
      count += static_cast<size_t>(step.times) * mix_all(step.body, groups, hash);
      mix("end", hash);
    } else if (step.exchange) {
      mix(text_of(*step.exchange, groups.at(step.exchange->group).size(), step.place), hash);
      ++count;
    }
  }
  return count;
}

}  // namespace

PlanCalls calls_of(const std::vector<Step>& steps, const Groups& groups, const std::string& salt) {
  PlanCalls calls{fnv1a("")};
  mix(salt, calls.hash);
  calls.count = mix_all(steps, groups, calls.hash);
  return calls;
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
