#pragma once
// A program without its mesh: what a plan computes on one device, for given sizes of the
// axes.
#include "spec/denote/denote.h"

namespace shardproof {

/// Replaces |t| by its value, and ppermute by a roll of the whole tensor. Throws std::domain_error
/// if an axis does not divide the rotated dim.
ir::Program at_mesh_sizes(const ir::Program& program, const denote::Sizes& sizes);

}  // namespace shardproof
