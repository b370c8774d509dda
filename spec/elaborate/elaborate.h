#pragma once
// The one reading of patterns: from the names that a pattern writes to the indices of its op.
//
// The names on the left stand for the positions of each operand in order. A position may be called
// by its own name or by another name (alias) of the same dim, but positions of one operand do not
// exchange their names. After that a name is an index: the same name is the same index, in
// whatever operand, alone or as a factor of a group. A position in brackets, and the positions that
// concat puts into its bracket, are paired with nothing. Only rearrange renames on the right.
// In the body of a generic function names are bound to the caller's dims: there whole positions are
// paired first, so that a caller's K is not confused with a factor of its (K D).
#include <optional>
#include <string>

#include "spec/elaborate/names.h"
#include "spec/ir/ops.h"

namespace shardproof::elaborate {

/// What is wrong with a pattern: E0305.
struct Problem {
  std::string message;
  std::string label = {};
  std::optional<size_t> operand = {};  ///< the operand at fault
  std::string fix = {};                ///< the pattern to write instead; empty: none is known
};

/// Fills in pattern.indices of an op that has a pattern, given the dims of its tensor operands; the
/// left sides get the grouping of their operands. Does nothing for an op without a pattern.
std::optional<Problem> elaborate(const ir::Program& program, ir::Op& op,
                                 const std::vector<Shape>& operands);

/// `left[operand]` of the pattern with the grouping of the operand's type, `K D` or `(K D)` for H
/// alike. A Problem where the dims are others, or where a position has another's name.
std::optional<Problem> regroup(const ir::Program& program, ir::Pattern& pattern, size_t operand,
                               const Shape& type);

/// The positions of pointwise operands and of their result: whole positions are paired by name, and
/// (K D) is H if `dim H = (K D)`.
ir::Indices whole_positions(const ir::Program& program, const std::vector<Shape>& operands,
                            const Shape& result);

}  // namespace shardproof::elaborate
