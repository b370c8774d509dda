#pragma once
// From a proved plan of a program to one that runs.
#include "impl/program.h"
#include "impl/run/plan.h"

namespace shardproof {

struct PlanOptions {
  Precision precision = Precision::as_written;
  bool reuse_memory = true;  ///< values that are not live at the same time share memory
  bool overlap = false;      ///< collectives go on while the rank computes; the same numbers
  /// So many iterations of a scan are one of its loop, where they divide: with overlap collectives
  /// of the next begin in this one.
  size_t unroll = 1;
  bool accept_unknown = false;  ///< also a plan that is not decided; never one that is refused
  bool check_finite = false;    ///< a run refuses inputs with NaN or infinity; reads them all
  /// Leaves (input, output) of state: a step of run_kept() leaves the result where the parameter
  /// is.
  std::vector<std::pair<size_t, size_t>> in_place = {};
  bool tidy = true;  ///< less is moved, and f32 numbers that are all bf16 are kept as that
  bool fuse = true;  ///< functions of the library are one step each where the device has kernels
  std::shared_ptr<Device> device = {};  ///< where the kernels run; none: this processor
  /// Called with "compile" before the passes, then with the name of each, and the text of the plan
  /// at that point (impl/plan/text.h). See plan_stages().
  std::function<void(const std::string& stage, const std::string& text)> watch = {};
};

/// What `watch` is called with, in order.
std::vector<std::string> plan_stages();

/// Compiles plan `name` for one rank. Throws PlanError where the plan is not proved, a size is
/// missing or does not divide, a requirement does not hold, or something cannot be run.
Plan compile_plan(const Program& program, const Name& name, const Mesh& mesh, const DimSizes& dims,
                  int64_t rank, const PlanOptions& options = {});

}  // namespace shardproof
