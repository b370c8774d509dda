#pragma once
// --test: runs the laws that compare our models with the oracle on a user's file.
#include "impl/beside_oracle/random_cases.h"
#include "spec/cli/report.h"

namespace shardproof::check_sharding {

/// The result of testing one plan or its derived backward.
struct TestedPlan {
  std::string claim;       ///< "ffn_sharded implements ffn", "the derived backward of ffn_sharded"
  const Sources* sources;  ///< of its lines, kept by the program
  bool derived = false;    ///< its lines stand in no file
  beside::Outcome outcome = {};
  std::string why = {};  ///< why it was not run; empty if it was
};

/// Runs each of the file's own plans and, if it is proved, its derived backward, as often as the
/// options say and their time allows: each has an equal share of what is left. Runs refused plans
/// too if possible; for a trusted plan, the kernel with its name. `before` is called before the
/// i-th of `count` plans.
std::vector<TestedPlan> test_plans(
    const Program& program, const beside::CaseOptions& options,
    const std::map<Name, beside::Kernel>& kernels,
    const std::function<void(const Name& plan, size_t i, size_t count)>& before);

/// Refuted if one differs; else unknown if one was not run.
Verdict verdict_of(const std::vector<TestedPlan>& tested);

void print_tested(const std::vector<TestedPlan>& tested, const beside::CaseOptions& options,
                  double seconds, std::ostream& out);

}  // namespace shardproof::check_sharding
