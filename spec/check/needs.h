#pragma once
// The functions on which a function depends.
#include <functional>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

/// Its model, the plan whose saved values it takes, and those that it calls or differentiates.
std::vector<size_t> needs_of(const ir::Function& function);

/// The same with all instances of each: before types are known, a call may become any of them.
std::vector<size_t> may_need(const ir::Program& program, const ir::Function& function);

/// The same, and what it claims.
std::vector<size_t> may_need_or_claim(const ir::Program& program, const ir::Function& function);

/// By function, of `count`: `first`, and all on which these depend at any depth, by `needs`.
std::vector<bool> with_needs(size_t count, std::vector<size_t> first,
                             const std::function<std::vector<size_t>(size_t)>& needs);

/// The functions that the file can name, and all on which they depend; other imported plans are not
/// proved again. A hand-written backward is included if its function is.
std::vector<bool> asked_for(const Resolved& resolved);

}  // namespace shardproof
