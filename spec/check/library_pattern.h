#pragma once
// Fixes for a call of a library function with a pattern, such as `softmax("B M; M", x)`.
#include "spec/check/typing.h"

namespace shardproof {

/// If the pattern lacks axes of an argument: the pattern with the arguments' types. If the dim that
/// the function works on is split: the call with that dim gathered. Empty for other refusals.
std::vector<Fix> fixes_of_library_pattern(const Sources& sources, const ir::Function& plan,
                                          const std::vector<Type>& types, const RefusedOp& refused);

}  // namespace shardproof
