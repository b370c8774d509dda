#pragma once
// The functions on which a function depends.
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

/// Its model, the plan whose saved values it takes, and those that it calls or differentiates.
std::vector<size_t> needs_of(const ir::Function& function);

/// The same with all instances of each: before types are known, a call may become any of them.
std::vector<size_t> may_need(const ir::Program& program, const ir::Function& function);

/// The functions that the file can name, and all on which they depend; other imported plans are not
/// proved again. A hand-written backward is included if its function is.
std::vector<bool> asked_for(const Resolved& resolved);

}  // namespace shardproof
