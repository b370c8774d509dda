#pragma once
// A program without its mesh: what a plan computes on one device, for one given size of each
// axis.
#include "spec/denote/denote.h"

namespace shardproof {

/// |t| becomes its number, and a ppermute the roll that it is on the whole tensor. Throws
/// std::domain_error where a rotated dim is not divisible.
ir::Program at_mesh_sizes(const ir::Program& program, const denote::Sizes& sizes);

}  // namespace shardproof
