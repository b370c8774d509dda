#pragma once
// Calls of the library's functions that a device has a kernel for: impl/compile/fused.
#include "impl/compile/compiler.h"

namespace shardproof::compile {

/// Adds one step that computes the results of `call`, whose arguments are known in the scope;
/// false, and no result is defined, where its instructions have to be compiled.
bool fuse(Compiler& compiler, Scope& scope, const ir::LibraryCall& call);

}  // namespace shardproof::compile
