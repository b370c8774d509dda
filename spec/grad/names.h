#pragma once
// Writes indices as text: chooses names for the indices of an op that spec/elaborate reads as the
// same indices, whatever names its operands use.
#include "spec/ir/program.h"

namespace shardproof::grad {

using Positions = std::vector<ir::Position>;

std::vector<ir::IndexId> flat(const Positions& positions);

/// Equal except for the numbers and names of the indices.
bool same_structure(const ir::Indices& a, const ir::Indices& b);

/// The n-th other name of a dim, `N_1` of N; declares it in `dims`. Null: it is the name of an axis
/// or a constant.
std::optional<Name> other_name(ir::Program& dims, const Name& dim, int n);

/// The indices of an op whose result has the positions of its only operand.
ir::Indices unchanged(const ir::Program& program, const Shape& operand);

/// Writes the pattern of `op` for the indices `in`. Left sides have the operands' axes and marks;
/// `right` has the preferred names of the result's positions, its axes and marks. An index gets the
/// name in `right`, else the one in `in`, else the operand's, else a new one, which is declared in
/// `dims`; a name that would be read as another index is skipped. False: no text expresses it (a
/// number has one name).
bool write_names(ir::Program& dims, ir::Op& op, const ir::Indices& in,
                 const std::vector<Shape>& operands, const Shape& right);

}  // namespace shardproof::grad
