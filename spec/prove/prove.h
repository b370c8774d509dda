#pragma once
// What the solver adds to a check: size conditions reduced, assumptions that can hold, and the
// index maps of every layout and collective of a plan, for all sizes.
#include "spec/prove/size_conditions.h"
#include "spec/prove/smt.h"

namespace shardproof {

struct ProveOptions {
  smt::Limits limits;
};

/// What was asked for one plan.
struct PlanProof {
  size_t function = 0;
  Name name;
  std::optional<Sizing> smallest;  ///< the smallest mesh and sizes that satisfy what is assumed
  size_t proved = 0, refuted = 0, unknown = 0;  ///< obligations
  size_t conditions_dropped = 0;
};
struct ProofStatistics {
  std::vector<PlanProof> plans;
  double solver_seconds = 0;
  size_t questions = 0;  ///< put to the solver; the rest were equal to one of these
};

/// Adds to the reports of the plans: conditions reduced by implication, E0111 where the assumptions
/// contradict each other, and for a plan that is proved every layout and index fact. A fact that is
/// refuted or not decided takes the verdict with it.
ProofStatistics prove(CheckedProgram& checked, const ProveOptions& options = {});

/// A claim with the place it comes from.
struct PlacedObligation {
  smt::Obligation obligation;
  SourceRange range;
};

/// The layout and index facts of a function whose values have `types`; each distinct one once.
std::vector<PlacedObligation> plan_obligations(const ir::Program& program, size_t function,
                                               const std::vector<Type>& types);

/// Every obligation of every plan as `<kind>-<plan>-<n>.smt2` in `dir`, which must exist. Returns
/// the names of the files; throws std::runtime_error where one cannot be written.
std::vector<std::string> write_smtlib(const CheckedProgram& checked, const std::string& dir);

}  // namespace shardproof
