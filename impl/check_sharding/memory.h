#pragma once
// The memory that a plan needs on a GPU, from the plan that the core compiles for these sizes.
#include "spec/cli/report.h"

namespace shardproof::check_sharding {

/// For each of the file's own plans that is not refused. Empty if the mesh or a size is not
/// known.
std::map<Name, cli::PlanMemory> memory_of(const cli::FileReport& report, const FileReader& reader);

}  // namespace shardproof::check_sharding
