#pragma once
#include <vector>

#include "spec/check/check.h"

namespace shardproof {

/// Leaves out the middle of what no one reads to the end, such as a pattern of a million letters,
/// and the other places of a diagnostic beyond 20: "and 3 more places".
void shorten_texts(std::vector<Diagnostic>& diagnostics);

/// Keeps the first 100 diagnostics of a code, of the file and of its plans together. One in place
/// of the others says how many these are. The verdicts stay.
void leave_out_alike(std::vector<Diagnostic>& of_file, std::vector<PlanReport>& plans);

}  // namespace shardproof
