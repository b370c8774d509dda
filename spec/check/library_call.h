#pragma once
// A refusal inside a library function, told in terms of the call: gelu, not the erf inside it.
#include "spec/check/typing.h"

namespace shardproof {

/// When `refused` is an op inside a pointwise library function of one tensor that is unreduced: the
/// label, the numbers and the fix become those of the call. Other refusals are left as they are.
void tell_as_call(const Sources& sources, const ir::Program& program, const ir::Function& plan,
                  const std::vector<Type>& types, RefusedOp& refused);

}  // namespace shardproof
