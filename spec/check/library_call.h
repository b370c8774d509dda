#pragma once
// Reports a refusal inside a library function in terms of the call: gelu, not the erf in it.
#include "spec/check/typing.h"

namespace shardproof {

/// If `refused` is an op inside a pointwise library function of one unreduced tensor, rewrites its
/// label, numbers and fix for the call. Does not change other refusals.
void tell_as_call(const Sources& sources, const ir::Program& program, const ir::Function& plan,
                  const std::vector<Type>& types, RefusedOp& refused);

}  // namespace shardproof
