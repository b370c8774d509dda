#pragma once
// A plan on ranks beside what it claims, on random meshes and at random sizes; a difference is made
// smaller, and the first op is found whose value differs from the oracle's.
#include "impl/beside_oracle/plan_case.h"

namespace shardproof::beside {

struct CaseOptions {
  int cases = 20;
  unsigned seed = 1;
  std::map<Name, int64_t> given = {};   ///< sizes of axes and dims that stay as they are
  std::shared_ptr<Device> device = {};  ///< where the ranks run; none: threads of the CPU
  Kernel kernel = {};  ///< stands for the plan, which has no body; with the dtypes as written
  bool numbers_assumed = false;  ///< the proof assumes something of numbers: zeros are not drawn
};

/// A kernel that does what no kernel may.
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A plan that is not its claim, at the smallest sizes that were found.
struct Failure {
  denote::Sizes sizes;
  std::string how;         ///< "in f64", "in f64, collectives beside the work", "as written"
  std::string difference;  ///< the result, the entry, both numbers, the bound
  /// The op whose value is the first that differs from the oracle's; nothing where each op gives
  /// its own value, or values cannot be looked at.
  std::optional<SourceRange> first_op;
  bool looked_at_ops = false;  ///< each op was compared
};

struct Outcome {
  int cases = 0;  ///< that agree
  std::optional<Failure> failure;
};

/// Runs the plan in f64, again with collectives beside the work, and as its dtypes are written.
/// Throws PlanError, CommError or oracle::Error where it cannot be run at all.
Outcome run_random_cases(PlanCase one, const std::vector<Divisibility>& conditions,
                         const CaseOptions& given);

std::string mesh_text(const denote::Sizes& sizes);  ///< "d=2 t=3"
std::string dims_text(const denote::Sizes& sizes);  ///< "B=2 M=6"

}  // namespace shardproof::beside
