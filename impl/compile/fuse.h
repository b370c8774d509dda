#pragma once
// Calls of library functions for which a device has a kernel: see impl/compile/fused.
#include "impl/compile/compiler.h"

namespace shardproof::compile {

/// Adds one step that computes the results of `call`; its arguments are in the scope. Returns false
/// and defines no result if its instructions must be compiled instead.
bool fuse(Compiler& compiler, Scope& scope, const ir::LibraryCall& call);

/// By function that `fuse` may make one step: the law in properties/fused that holds its kernel to
/// the function's text in spec/lib.
std::map<Name, std::string> laws_of_fused();

}  // namespace shardproof::compile
