#pragma once
// --test: the laws that hold our own models to the oracle, for a user's file.
#include "impl/beside_oracle/random_cases.h"
#include "spec/cli/report.h"

namespace shardproof::check_sharding {

/// What the runs of one plan, or of its derived backward, say.
struct TestedPlan {
  std::string claim;  ///< "ffn_sharded implements ffn", "the derived backward of ffn_sharded"
  beside::Outcome outcome;
  std::string why;  ///< it was not run; empty: it was
};

/// Runs each of the file's own plans, and the backward derived of it where it is proved, as often
/// as the options say. Plans that are refused are run too, where they can be; of a trusted plan the
/// kernel of its name.
std::vector<TestedPlan> test_plans(const Program& program, const beside::CaseOptions& options,
                                   const std::map<Name, beside::Kernel>& kernels);

/// Refuted where one differs, else unknown where one was not run.
Verdict verdict_of(const std::vector<TestedPlan>& tested);

void print_tested(const std::vector<TestedPlan>& tested, const Sources& sources,
                  const beside::CaseOptions& options, double seconds, std::ostream& out);

}  // namespace shardproof::check_sharding
