#pragma once
// Test points: a mesh, sizes that a plan's axes divide, and the devices' parts of the inputs.
#include <optional>
#include <set>

#include "spec/check/check.h"
#include "spec/denote/few_draws.h"
#include "spec/denote/geometry.h"

namespace shardproof {

/// Whether each dim that pads another is larger: where they are equal, nothing is padded.
bool pads_something(const ir::Program& program, const denote::Sizes& sizes);

/// The size conditions of all plans of the file.
std::vector<Divisibility> all_conditions(const CheckedProgram& checked);

/// Requirements on a mesh and its sizes.
struct MeshWish {
  std::optional<std::set<Axis>> axes = {};         ///< others have size 1; nullopt: all axes
  int64_t least = 1;                               ///< least size of a dim
  bool small = false;                              ///< two of three dims have the least size
  std::map<Name, int64_t> given = {};              ///< fixed sizes of axes and dims
  std::vector<ir::Requirement> requirements = {};  ///< on sizes, in addition to the file's
};

/// A mesh with unequal axes (the first two are 2 and 3) and small sizes that satisfy the conditions
/// and the file's requirements. Nullopt if none was found.
std::optional<denote::Sizes> mesh_sizes(const ir::Program& program,
                                        const std::vector<Divisibility>& conditions,
                                        denote::RandomBits& rng, const MeshWish& wish = {});

/// Smaller sizes that satisfy the same requirements: of one axis, or of one dim and its dependent
/// sizes; smallest first. Sizes in `given` stay.
std::vector<denote::Sizes> smaller_sizes(const ir::Program& program,
                                         const std::vector<Divisibility>& conditions,
                                         const denote::Sizes& sizes,
                                         const std::map<Name, int64_t>& given);

/// The devices' parts of `x`; terms of integers are integers. If the split rounds, x
/// is set to the sum of the parts, so that both sides of a comparison get equal
/// inputs.
denote::Distributed<double> lay_out(const denote::Geometry& geometry, const Type& type,
                                    denote::Array<double>& x, denote::RandomBits& rng);

}  // namespace shardproof
