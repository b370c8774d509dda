#pragma once
// Calls of library functions for which a device has a kernel: see impl/compile/fused.
#include "impl/compile/compiler.h"

namespace shardproof::compile {

/// Adds one step that computes the results of `call`; its arguments are in the scope. Returns false
/// and defines no result if its instructions must be compiled instead.
bool fuse(Compiler& compiler, Scope& scope, const ir::LibraryCall& call);

}  // namespace shardproof::compile
