#pragma once
// Resolves the names in a pattern to the indices of its op. The only place that does so.
//
// The names on the left denote the positions of each operand, in order. A position may have its own
// name or another name (alias) of the same dim, but the names of two positions of an operand may
// not be swapped. After that a name is an index: equal names are the same index in any operand,
// alone or as a factor of a group. A position in brackets, and the positions that concat joins into
// its bracket, are not matched with others. Only rearrange renames on the right. In the body of a
// generic function names are bound to the caller's dims: there whole positions are matched first,
// so that a caller's K is not confused with a factor of its (K D).
#include <optional>
#include <string>

#include "spec/elaborate/names.h"
#include "spec/ir/ops.h"

namespace shardproof::elaborate {

/// An error in a pattern: E0305.
struct Problem {
  std::string message;
  std::string label = {};
  std::optional<size_t> operand = {};  ///< the operand at fault
  std::string fix = {};                ///< a correct pattern; empty if none is known
};

/// Fills in pattern.indices of an op with a pattern, given the dims of its tensor operands;
/// regroups the left sides like their operands. Does nothing for an op without a pattern.
std::optional<Problem> elaborate(const ir::Program& program, ir::Op& op,
                                 const std::vector<Shape>& operands);
std::optional<Problem> elaborate(const ir::Program& program, ir::Op& op,
                                 const std::vector<const Shape*>& operands);

/// The same for a pattern whose left sides are regrouped.
std::optional<Problem> elaborate_regrouped(const ir::Program& program, ir::Op& op);

/// Regroups `left[operand]` like the operand's type: `K D` or `(K D)` for H. Returns a Problem if
/// the dims differ, or if a position has another one's name.
std::optional<Problem> regroup(const ir::Program& program, ir::Pattern& pattern, size_t operand,
                               const Shape& type);

/// The indices of pointwise operands and their result: matches whole positions by name; (K D) is H
/// if `dim H = (K D)`.
ir::Indices whole_positions(const ir::Program& program, const std::vector<Shape>& operands,
                            const Shape& result);
ir::Indices whole_positions(const ir::Program& program, std::vector<const Shape*> operands,
                            const Shape& result);

}  // namespace shardproof::elaborate
