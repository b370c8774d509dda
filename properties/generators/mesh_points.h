#pragma once
// Points on meshes: sizes that every axis of a plan divides, and what its devices hold there.
#include <optional>
#include <random>

#include "spec/check/check.h"
#include "spec/denote/denote.h"

namespace shardproof::properties {

/// What the sizes have to meet for every plan of the file.
std::vector<Divisibility> all_conditions(const CheckedProgram& checked);

/// A mesh with unequal axes, 2 and 3 the first two, and small sizes that meet the conditions and
/// the file's requirements; nullopt where none was found.
std::optional<denote::Sizes> mesh_sizes(const ir::Program& program,
                                        const std::vector<Divisibility>& conditions,
                                        std::mt19937_64& rng);

}  // namespace shardproof::properties
