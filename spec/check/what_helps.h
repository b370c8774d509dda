#pragma once
// What makes a comparison short enough to be decided: the parts of a plan and its model that can be
// compared one by one, by their names.
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// The most instructions of a plan or its model, calls written out, that are compared.
constexpr size_t most_ops_written_out = 50'000;

/// The instructions of a function with those of what it calls, at most one more than
/// `most_ops_written_out`.
size_t ops_written_out(const ir::Program& program, size_t function);

/// Sentences, the most helpful first; none where the plan is short and calls nothing.
std::vector<std::string> what_helps(const ir::Program& program, size_t plan);

}  // namespace shardproof
