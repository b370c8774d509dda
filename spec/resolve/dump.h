#pragma once
#include <string>

#include "spec/ir/program.h"

namespace shardproof {

/// Prints one instruction per line with the types of its results, for tests and debugging: `%7
/// gate: bf16[B L F] = einsum "B/d L M, M F/t -> B/d L F/t" (%5, %6)`.
std::string dump(const ir::Program& program, const ir::Function& function);

}  // namespace shardproof
