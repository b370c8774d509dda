#pragma once
// Detects ranks that run different plans without comparing every collective, which is expensive
// between processes.
#include <string>
#include <vector>

#include "impl/comm/forwarding.h"
#include "impl/plan/steps.h"

namespace shardproof::plan {

/// All collectives of a plan, in order. They do not depend on data, so two ranks with the same hash
/// make the same calls (op, element, count, group size, location) in the same order; only the shift
/// of a permute can be data, so permutes are compared each time.
struct PlanCalls {
  uint64_t hash = 0;
  size_t count = 0;  ///< per run
};

/// `groups` are the ranks of each group that `rank` is in; `salt` is hashed too.
PlanCalls calls_of(const std::vector<Step>& steps, const std::vector<std::vector<int>>& groups,
                   const std::string& salt);

/// A communicator for one run of a plan. It compares the first collective of every group, together
/// with the hash of all calls: ranks that meet in a group later then run the same plan, in the same
/// run. The other collectives are not compared. This finds every disagreement that comparing each
/// call would find. It happens in every run, because some of the ranks can start another plan, or
/// the same plan with other sizes, at any time.
class SpotChecked : public Forwarding {
 public:
  SpotChecked(Communicator& inner, const PlanCalls& calls) : Forwarding(inner), calls_(calls) {}
  ~SpotChecked() override { inner().check_calls(true); }
  /// Throws std::logic_error if the run made another number of calls than the hash covers.
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
