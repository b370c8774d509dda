#pragma once
// Advice to make a comparison short enough to be decided: parts of a plan and its model that can be
// compared one by one, by name.
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// A plan or model with more instructions, with calls inlined, is not compared.
constexpr size_t most_ops_written_out = 50'000;

/// The number of instructions of a function with calls inlined, at most `most_ops_written_out` +
/// 1.
size_t ops_written_out(const ir::Program& program, size_t function);

/// Sentences, most helpful first; empty if the plan is short and calls nothing.
std::vector<std::string> what_helps(const ir::Program& program, size_t plan);

/// Why a plan and its model differ if only one of them masks with a large number, such as -1e30.
std::optional<std::string> masked_by_a_number(const ir::Program& program, size_t plan);

}  // namespace shardproof
