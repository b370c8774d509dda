#pragma once
// A refusal inside a library function, reported in terms of the call: gelu, not its inner erf.
#include "spec/check/typing.h"

namespace shardproof {

/// If `refused` is an op inside a pointwise library function of one unreduced tensor, the label,
/// the numbers and the fix become those of the call. Other refusals do not change.
void tell_as_call(const Sources& sources, const ir::Program& program, const ir::Function& plan,
                  const std::vector<Type>& types, RefusedOp& refused);

}  // namespace shardproof
