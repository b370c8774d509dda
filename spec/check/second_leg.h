#pragma once
// No proof without a run: a plan runs on all devices of small meshes and is compared with its model
// and its erasure on one device, by code that uses neither the rules nor the algebra.
#include "oracle/kept_work.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/devices.h"
#include "spec/check/points.h"
#include "spec/check/reached.h"

namespace shardproof {

/// The plans that no other plan calls, except training steps. One of their runs executes all
/// callees; their other runs replace proved plans by their models.
std::vector<bool> plans_that_nobody_calls(const ir::Program& program);

/// A plan with a proof.
struct Proved {
  size_t plan = 0;
  std::vector<Divisibility> conditions;
  std::vector<std::string> assumptions;
  bool through = false;  ///< one of its runs executes all callees
};

/// Data that the runs of a file's plans share. The program must not change and must outlive this.
struct RunsOfFile {
  explicit RunsOfFile(const ir::Program& program)
      : costs(program), dims(program), rules(program), readings(program) {}
  CostOfRun costs;
  ReachedDims dims;
  const DrawRules rules;
  oracle::KeptReadings readings;
  /// The sizes drawn last, for all plans with the same conditions: of any cost, and small ones.
  struct Drawn {
    std::string conditions;
    std::vector<std::optional<denote::Sizes>> sizes;
  };
  Drawn drawn, drawn_small;
};

/// Null if three runs agree with the claim. U0009: one differs. U0010: three runs were not
/// possible.
std::optional<Diagnostic> run_beside_model(const Devices::World& world, Proved proved,
                                           RunsOfFile& file);

/// The total processor time in run_beside_model, in seconds.
double seconds_of_runs();

}  // namespace shardproof
