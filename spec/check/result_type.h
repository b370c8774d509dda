#pragma once
// Fixes that change what a plan returns.
#include "spec/check/typing.h"

namespace shardproof {

/// For a loss that is a copy on some axes and whose gradient is taken (E0218): it is counted once.
/// Empty for other refusals.
std::vector<Fix> fixes_of_copied_loss(const Sources& sources, const ir::Program& program,
                                      const ir::Function& plan, const RefusedOp& refused);

/// Whether a plan of the program takes the gradient of this one.
bool is_differentiated(const ir::Program& program, size_t function);

}  // namespace shardproof
