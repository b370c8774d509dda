#pragma once
// From indices back to text: names for the indices of one op that spec/elaborate reads as these
// indices again, whatever the op's operands call their positions.
#include "spec/ir/program.h"

namespace shardproof::grad {

using Positions = std::vector<ir::Position>;

std::vector<ir::IndexId> flat(const Positions& positions);

bool same_names(const Shape& a, const Shape& b);

/// Equal but for the numbers and names of the indices.
bool same_structure(const ir::Indices& a, const ir::Indices& b);

/// The indices of an op whose result has the positions of its one operand.
ir::Indices unchanged(const ir::Program& program, const Shape& operand);

/// Writes the pattern of `op`: `in` by names. The left sides have the axes and marks of the
/// operands; `right` says what the result's positions would best be called, and has its axes and
/// marks. An index gets the name that `right` wants, else the one that `in` has, else the
/// operand's, else a new one, which is declared in `dims`; a name that the text would read as
/// another index is passed over. False: no text says it (a number has one name).
bool write_names(ir::Program& dims, ir::Op& op, const ir::Indices& in,
                 const std::vector<Shape>& operands, const Shape& right);

}  // namespace shardproof::grad
