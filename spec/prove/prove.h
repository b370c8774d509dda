#pragma once
// The solver's part of a check, for all sizes: reduced size conditions, assumptions that can
// hold together, and the index maps of every layout and collective of a plan.
#include "spec/prove/size_conditions.h"
#include "spec/prove/smt.h"

namespace shardproof {

struct ProveOptions {
  smt::Limits limits;
};

/// The solver's results for one plan.
struct PlanProof {
  size_t function = 0;
  Name name;
  std::optional<Sizing> smallest;  ///< the smallest mesh and sizes that satisfy the assumptions
  size_t proved = 0, refuted = 0, unknown = 0;  ///< obligations
  size_t conditions_dropped = 0;
};
struct ProofStatistics {
  std::vector<PlanProof> plans;
  double solver_seconds = 0;
  size_t questions = 0;  ///< sent to the solver; the others were equal to one of these
};

/// Adds to the plans' reports: conditions reduced by implication; E0111 if the assumptions
/// contradict each other; for a proved plan, every layout and index fact. A fact that is refuted or
/// undecided changes the verdict.
ProofStatistics prove(CheckedProgram& checked, const ProveOptions& options = {});

/// A claim with its source location.
struct PlacedObligation {
  smt::Obligation obligation;
  SourceRange range;
};

/// The layout and index facts of a function whose values have `types`, without duplicates.
std::vector<PlacedObligation> plan_obligations(const ir::Program& program, size_t function,
                                               const std::vector<Type>& types);

/// Writes every obligation of every plan to `dir`, which must exist, as `<kind>-<plan>-<n>.smt2`.
/// Returns the file names; throws std::runtime_error if a file cannot be written.
std::vector<std::string> write_smtlib(const CheckedProgram& checked, const std::string& dir);

}  // namespace shardproof
