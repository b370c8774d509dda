#pragma once
// Sizes of dims and axes that a file fixes by numbers: which of them a run may change.
#include <set>

#include "spec/check/check.h"
#include "spec/denote/evaluate.h"

namespace shardproof {

struct FixedSizes {
  std::set<Name> dims;
  std::set<Axis> axes;
  bool empty() const { return dims.empty() && axes.empty(); }
};

/// Those of the program that are not small.
FixedSizes fixed_sizes(const ir::Program& program);
/// Those that no value of the function, of its model or of what they call is made of.
FixedSizes without_those_read(const ir::Program& program, size_t plan, FixedSizes fixed);
/// Whether a number is written in the plan or its model that may be one of these sizes, a part or
/// an inverse of one: then smaller sizes say nothing of it.
bool may_write_a_size(const ir::Program& program, size_t plan, const FixedSizes& fixed);

/// Those that nothing compares or adds up: slices, other sizes, `require`s and |M| - 8 do. A proof
/// for all of their sizes is likely, does not pay for what numbers have in common, and has no
/// condition that only the numbers decide.
FixedSizes sizes_apart(const ir::Program& program, size_t plan);

/// The program with these sizes left open.
ir::Program with_open_sizes(ir::Program program, const FixedSizes& open);

/// Whether a size of the mesh is a number in the plan, or in a function that it needs.
bool names_mesh_sizes(const ir::Program& program, size_t plan);

/// Axes that types and values of the plan and of what it calls speak of.
std::set<Axis> axes_of_plan(const ir::Program& program, const denote::Types& types, size_t plan);

}  // namespace shardproof
