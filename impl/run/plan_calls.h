#pragma once
// How the ranks of a plan see that they run the same one, where comparing every collective costs:
// between processes.
#include <string>
#include <vector>

#include "impl/comm/forwarding.h"
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// All collectives of a plan, in order. They do not depend on data, so two ranks with the same hash
/// make the same calls (op, element, count, size of the group, place) in the same order; only where
/// a permute sends to may be data, and permutes are compared each time.
struct PlanCalls {
  uint64_t hash = 0;
  size_t count = 0;  ///< of a whole run
};

/// `groups` are the ranks of each group that `rank` is in; `salt` is what else has to be the same.
PlanCalls calls_of(const std::vector<Step>& steps, const std::vector<std::vector<int>>& groups,
                   const std::string& salt);

/// A communicator for one run of a plan. The first collective of every group is compared, and with
/// it the hash of all: whoever meets in a group later has the same plan, and is in the same run of
/// it. The others are not compared. With the plan's calls known that finds every disagreement that
/// comparing each of them would; it is done in every run and not once, because another plan, or the
/// same for other sizes, may be run by a part of the ranks at any time.
class SpotChecked : public Forwarding {
 public:
  SpotChecked(Communicator& inner, const PlanCalls& calls) : Forwarding(inner), calls_(calls) {}
  ~SpotChecked() override { inner().check_calls(true); }
  /// Throws std::logic_error where a step has communicated that the hash does not know.
  void finish() const;

 private:
  const std::string& before(Collective collective, const Group& group,
                            const std::string& place) override;

  const PlanCalls& calls_;
  std::vector<const Group*> met_;
  std::string compared_place_;
  size_t made_ = 0;
};

}  // namespace shardproof::plan
