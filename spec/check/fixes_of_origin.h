#pragma once
// Fixes on other lines than the refused one: where the state of an operand began.
#include "spec/check/typing.h"

namespace shardproof {

/// Fixes of a value that is {I_t} beside a plain copy: the copy becomes {I_t} where it is reduced,
/// or in the layout that it is a field of.
std::vector<Fix> fixes_of_plain_copy(const Sources& sources, const ir::Function& plan,
                                     const RefusedOp& refused);

/// Guesses for an unreduced operand: a gradient is reduced where it is computed, a carry is
/// unreduced like what is added to it, and what is added to an unreduced carry is not reduced.
std::vector<Fix> fixes_of_unreduced_origin(const Sources& sources, const ir::Program& program,
                                           const ir::Function& plan, const std::vector<Type>& types,
                                           const RefusedOp& refused);

}  // namespace shardproof
