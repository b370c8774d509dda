#pragma once
// Proved plans as a JAX program: check-sharding FILE --to jax.
#include <ostream>
#include <vector>

#include "spec/cli/report.h"

namespace shardproof::to_jax {

/// A Python module with one function for each proved plan of the file: given a mesh and the sizes
/// of its dims it returns the jitted shard_map of the plan, on whole arrays. What cannot be
/// printed is a comment in the module, and one of the diagnostics returned.
std::vector<Diagnostic> print_jax(const cli::FileReport& report, std::ostream& out);

}  // namespace shardproof::to_jax
