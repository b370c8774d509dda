#pragma once
// Sizes of dims and axes that a file gives as numbers, and those of them that a run may change.
#include <map>
#include <set>
#include <vector>

#include "spec/check/check.h"
#include "spec/denote/evaluate.h"

namespace shardproof {

struct FixedSizes {
  std::set<Name> dims;
  std::set<Axis> axes;
  bool empty() const { return dims.empty() && axes.empty(); }
  bool operator==(const FixedSizes&) const = default;
};

/// Whether the file gives the size of a dim or an axis as a number.
bool is_fixed(const ir::Program& program, const Name& name);
/// The axes whose sizes are numbers.
std::map<Name, int64_t> fixed_axes(const ir::Program& program);
/// The fixed sizes of the program that are not small.
FixedSizes large_sizes(const ir::Program& program);
/// The fixed sizes that a run of the plan reduces: the large ones, and those above 2 that no slice
/// of the plan or its callees needs. None that values are compared with: x > |M|.
FixedSizes sizes_to_reduce(const ir::Program& program, size_t plan);
/// Drops the sizes that a value of the function, its model or their callees uses.
FixedSizes without_those_read(const ir::Program& program, size_t plan, FixedSizes fixed);
/// Whether the plan or its model contains a literal that may be one of these sizes, a fraction or
/// the inverse of one: a run at smaller sizes would not test it.
bool may_write_a_size(const ir::Program& program, size_t plan, const FixedSizes& fixed);

/// Sizes above 1 for all values of which a proof may succeed, which is cheaper than one with
/// numbers: those that no concat or read at a number needs, and then those of them that are not
/// compared or added either (|M| - 8 does that).
std::vector<FixedSizes> sizes_to_open(const ir::Program& program, size_t plan);

/// The program with these sizes made symbolic.
ir::Program with_open_sizes(ir::Program program, const FixedSizes& open);

/// Whether a mesh size occurs as a number in the plan or in a function that it needs.
bool names_mesh_sizes(const ir::Program& program, size_t plan);

/// The axes in types and values of the plan and its callees.
std::set<Axis> axes_of_plan(const ir::Program& program, const denote::Types& types, size_t plan);

}  // namespace shardproof
