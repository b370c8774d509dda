#pragma once
// Test points: a mesh with sizes that the axes of a plan divide, and the devices' parts of inputs.
#include <optional>
#include <random>
#include <set>

#include "spec/check/check.h"
#include "spec/denote/geometry.h"

namespace shardproof {

/// The conditions on sizes of all plans of the file.
std::vector<Divisibility> all_conditions(const CheckedProgram& checked);

/// Requirements on a mesh and its sizes.
struct MeshWish {
  std::optional<std::set<Axis>> axes = {};         ///< all others have size 1; nothing: all matter
  int64_t least = 1;                               ///< of a dim
  bool small = false;                              ///< two dims in three have the least size
  std::map<Name, int64_t> given = {};              ///< sizes of axes and dims that are not drawn
  std::vector<ir::Requirement> requirements = {};  ///< of sizes, beside the file's
};

/// A mesh with unequal axes, 2 and 3 the first two, and small sizes that meet the conditions and
/// the file's requirements; nullopt where none was found.
std::optional<denote::Sizes> mesh_sizes(const ir::Program& program,
                                        const std::vector<Divisibility>& conditions,
                                        std::mt19937_64& rng, const MeshWish& wish = {});

/// Smaller sizes that meet the same requirements: of one axis, or of one dim and the sizes that
/// depend on it; the smallest first. Sizes in `given` do not change.
std::vector<denote::Sizes> smaller_sizes(const ir::Program& program,
                                         const std::vector<Divisibility>& conditions,
                                         const denote::Sizes& sizes,
                                         const std::map<Name, int64_t>& given);

/// The devices' parts of `x`; terms of whole numbers are whole. If rounding in the split changes
/// the value, x becomes the changed tensor, so that both sides of a comparison get the same bits as
/// inputs.
denote::Distributed<double> lay_out(const denote::Geometry& geometry, const Type& type,
                                    denote::Array<double>& x, std::mt19937_64& rng);

}  // namespace shardproof
