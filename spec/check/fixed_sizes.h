#pragma once
// Sizes of dims and axes that a file gives as numbers, and those of them that a run may change.
#include <set>

#include "spec/check/check.h"
#include "spec/denote/evaluate.h"

namespace shardproof {

struct FixedSizes {
  std::set<Name> dims;
  std::set<Axis> axes;
  bool empty() const { return dims.empty() && axes.empty(); }
};

/// The sizes of the program that are not small.
FixedSizes fixed_sizes(const ir::Program& program);
/// Drops the sizes that a value of the function, its model or their callees uses.
FixedSizes without_those_read(const ir::Program& program, size_t plan, FixedSizes fixed);
/// Whether the plan or its model contains a literal that may be one of these sizes, a fraction or
/// the inverse of one: a run at smaller sizes would not test it.
bool may_write_a_size(const ir::Program& program, size_t plan, const FixedSizes& fixed);

/// Sizes that are not compared or added (slices, other sizes, `require`s and |M| - 8 do that). A
/// proof for all their values is likely to succeed, is cheaper than one with numbers, and needs no
/// condition that only numbers satisfy.
FixedSizes sizes_apart(const ir::Program& program, size_t plan);

/// The program with these sizes made symbolic.
ir::Program with_open_sizes(ir::Program program, const FixedSizes& open);

/// Whether a mesh size occurs as a number in the plan or in a function that it needs.
bool names_mesh_sizes(const ir::Program& program, size_t plan);

/// The axes in types and values of the plan and its callees.
std::set<Axis> axes_of_plan(const ir::Program& program, const denote::Types& types, size_t plan);

}  // namespace shardproof
