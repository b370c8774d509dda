#pragma once
// Compares a plan on ranks with its claim, on random meshes and sizes. Shrinks a difference, and
// finds the first op whose value differs from the oracle's.
#include <functional>

#include "impl/beside_oracle/plan_case.h"

namespace shardproof::beside {

/// Why a plan was not run.
inline constexpr char time_ended[] = "the time ended";

/// Limits of the processor time; without a clock there are none.
struct CaseTime {
  std::function<double()> clock = {};
  double of_cases = 0;  ///< no case starts after it, but the first
  double of_all = 0;    ///< nothing starts after it; a difference is made smaller until then

  bool cases_ended() const { return clock && clock() > of_cases; }
  bool ended() const { return clock && clock() > of_all; }
};

struct CaseOptions {
  int cases = 20;
  unsigned seed = 1;
  std::map<Name, int64_t> given = {};   ///< fixed sizes of axes and dims
  std::shared_ptr<Device> device = {};  ///< where the ranks run; null: CPU threads
  Kernel kernel = {};                   ///< replaces a plan without a body; dtypes as written
  bool numbers_assumed = false;         ///< the proof assumes signs or the like: draw no zeros
  CaseTime time = {};
};

/// A kernel violated its contract.
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A plan that differs from its claim, at the smallest sizes found.
struct Failure {
  denote::Sizes sizes;
  std::string how;         ///< "in f64", "in f64, with overlapped collectives", "as written"
  std::string difference;  ///< the result, the entry, both numbers, the bound
  /// An op of the plan to look at; none for a kernel, or if values are not accessible.
  struct Op {
    const char* which;
    SourceRange range;
  };
  std::optional<Op> op = {};
};

struct Outcome {
  int cases = 0;  ///< number of cases that agree
  std::optional<Failure> failure;
  bool stopped = false;  ///< by the time, before all cases
};

/// Runs the plan in f64, in f64 with overlapped collectives, and with its own dtypes. Throws
/// PlanError, CommError or oracle::Error if it cannot run at all. Agrees in fewer cases where the
/// time ends.
Outcome run_random_cases(PlanCase one, const std::vector<Divisibility>& conditions,
                         const CaseOptions& given);

std::string mesh_text(const denote::Sizes& sizes);  ///< "d=2 t=3"
std::string dims_text(const denote::Sizes& sizes);  ///< "B=2 M=6"

}  // namespace shardproof::beside
