#pragma once
// What a plan takes of a GPU: the core's own plan for it, made for the sizes of the run.
#include "spec/cli/report.h"

namespace shardproof::check_sharding {

/// Of each of the file's own plans that is not refused; nothing where the mesh or a size is not
/// known.
std::map<Name, cli::PlanMemory> memory_of(const cli::FileReport& report, const FileReader& reader);

}  // namespace shardproof::check_sharding
