#pragma once
// Fixes that state another type in a plan's signature.
#include "spec/check/typing.h"

namespace shardproof {

/// For an operand, argument or result that does not have the expected axes and marks, where it is a
/// parameter of the plan or what it returns: the parameter or result with the axes and marks with
/// which it is read or returned. Guesses, `of_head`.
std::vector<Fix> fixes_of_head(const Sources& sources, const ir::Function& plan,
                               const std::vector<Type>& types, const RefusedOp& refused);

/// The type of the plan's only result, as written.
std::optional<SourceRange> only_result_type(const Sources& sources, const ir::Function& plan);

}  // namespace shardproof
