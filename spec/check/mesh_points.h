#pragma once
// Points on meshes: sizes that every axis of a plan divides, and what its devices hold there.
#include <optional>
#include <random>
#include <set>

#include "spec/check/check.h"
#include "spec/denote/geometry.h"

namespace shardproof {

/// What the sizes have to meet for every plan of the file.
std::vector<Divisibility> all_conditions(const CheckedProgram& checked);

/// What is asked of a mesh and its sizes.
struct MeshWish {
  std::optional<std::set<Axis>> axes = {};         ///< all others have size 1; nothing: all matter
  int64_t least = 1;                               ///< of a dim
  std::map<Name, int64_t> given = {};              ///< sizes of axes and dims that are not drawn
  std::vector<ir::Requirement> requirements = {};  ///< of sizes, beside the file's
};

/// A mesh with unequal axes, 2 and 3 the first two, and small sizes that meet the conditions and
/// the file's requirements; nullopt where none was found.
std::optional<denote::Sizes> mesh_sizes(const ir::Program& program,
                                        const std::vector<Divisibility>& conditions,
                                        std::mt19937_64& rng, const MeshWish& wish = {});

/// Smaller sizes than these that meet the same: of one axis, or of one dim, and those that hang on
/// it; the smallest first. Sizes in `given` stay.
std::vector<denote::Sizes> smaller_sizes(const ir::Program& program,
                                         const std::vector<Divisibility>& conditions,
                                         const denote::Sizes& sizes,
                                         const std::map<Name, int64_t>& given);

/// What the devices hold of `x`: summands of whole numbers are whole. Where rounding makes it
/// another tensor, x becomes that one: who is given the one and who is given the other have the
/// same inputs, to the bit.
denote::Distributed<double> lay_out(const denote::Geometry& geometry, const Type& type,
                                    denote::Array<double>& x, std::mt19937_64& rng);

}  // namespace shardproof
