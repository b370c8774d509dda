#pragma once
// Calls of the library's functions that a device has a kernel for: impl/exec/fused.
#include "impl/exec/compiler.h"

namespace shardproof::exec {

/// Adds one step that computes the results of `call`, whose arguments are known in the scope;
/// false, and no result is defined, where its instructions have to be compiled.
bool fuse(Compiler& compiler, Scope& scope, const ir::LibraryCall& call);

}  // namespace shardproof::exec
