#pragma once
// Compiles a proved plan of a program.
#include "impl/program.h"
#include "impl/run/plan.h"

namespace shardproof {

struct PlanOptions {
  Precision precision = Precision::as_written;
  bool reuse_memory = true;  ///< values that are not live at the same time share memory
  bool overlap = false;      ///< overlap collectives with computation; same bits
  /// Unroll factor for scans; must divide the trip count. With overlap, collectives of the next
  /// iteration start in this one.
  size_t unroll = 1;
  bool accept_unknown = false;  ///< also compile plans with verdict unknown; never refuted ones
  bool check_finite = false;    ///< refuse inputs with NaN or infinity; reads all of them
  /// Pairs of leaves (input, output) of the state: update() and run_kept() write the result into
  /// the memory of the parameter. run() copies, since it leaves its inputs as they are.
  std::vector<std::pair<size_t, size_t>> in_place = {};
  /// Inputs whose entries stay the same from run to run, such as weights while text is sampled.
  /// What depends on them alone is computed by the first run and kept. It is computed again where
  /// such an input is another tensor than in the last run, or after Plan::reread_constant().
  std::vector<size_t> constant = {};
  /// On the host: the memory of intermediate values, shared by plans that never run at the same
  /// time. It grows to what the largest one needs. Null: the plan has its own.
  std::shared_ptr<Buffer> arena = {};
  bool elide = true;                    ///< run copy elision and bf16 narrowing
  bool fuse = true;                     ///< use the device's fused kernels for library functions
  std::shared_ptr<Device> device = {};  ///< where the kernels run; default: the CPU
  /// Called with "compile" before the passes, then with the name of each, and the text of the plan
  /// at that point (impl/plan/text.h). See plan_stages().
  std::function<void(const std::string& stage, const std::string& text)> watch = {};
};

/// The arguments of `watch`, in order.
std::vector<std::string> plan_stages();

/// Compiles plan `name` for one rank. Throws PlanError if the plan is not proved, a size is missing
/// or does not divide, a requirement does not hold, or an op is not supported.
Plan compile_plan(const Program& program, const Name& name, const Mesh& mesh, const DimSizes& dims,
                  int64_t rank, const PlanOptions& options = {});

}  // namespace shardproof
