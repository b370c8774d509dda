#pragma once
// Types that a value could have: the search space of counterexamples and of exhaustive
// tests.
#include "spec/denote/denote.h"

namespace shardproof::denote {

/// All types with the dims of `type` over `axes`. Each axis is R, U, Max (and I, with `copies`) or
/// splits any dim, in every order; U and Max do not occur together.
std::vector<Type> candidate_types(const Type& type, const std::vector<Axis>& axes,
                                  bool copies = false);

/// The types of the op's results without axes or marks; dims come from its pattern or operands.
std::vector<Type> whole_results(const ir::Op& op, const std::vector<Type>& operands);

/// The axes that the shapes mention, in order of first occurrence.
std::vector<Axis> axes_of(const std::vector<Shape>& shapes);

/// Every shape of the op's pattern and of its operand and result types.
std::vector<Shape> shapes_of(const ir::Op& op, const std::vector<Type>& operands,
                             const std::vector<Type>& results);

/// The op that computes the same value on whole tensors: a roll for ppermute.
ir::Op whole_op(const ir::Op& op);

}  // namespace shardproof::denote
