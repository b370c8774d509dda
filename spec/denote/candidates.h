#pragma once
// Types that a value could have: what a search for counterexamples and an exhaustive test go
// through.
#include "spec/denote/denote.h"

namespace shardproof::denote {

/// All types with the dims of `type` over `axes`: on each axis R, U, Max or a split of any dim,
/// the axes of a dim in every order. U and Max do not occur together. With `copies`, I too.
std::vector<Type> candidate_types(const Type& type, const std::vector<Axis>& axes,
                                  bool copies = false);

/// The types of the op's results without axes or marks: dims as its pattern or operands give them.
std::vector<Type> whole_results(const ir::Op& op, const std::vector<Type>& operands);

/// The axes that the shapes mention, in order of their occurrence.
std::vector<Axis> axes_of(const std::vector<Shape>& shapes);

/// Every shape that the op and its operands' and results' types have.
std::vector<Shape> shapes_of(const ir::Op& op, const std::vector<Type>& operands,
                             const std::vector<Type>& results);

/// The op whose result on whole tensors is the op's value: ppermute is a roll.
ir::Op whole_op(const ir::Op& op);

}  // namespace shardproof::denote
