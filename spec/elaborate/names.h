#pragma once
// Dims as runs of named factors.
#include <optional>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::elaborate {

/// A factor of a dim: its name as a pattern may write it, and the plain dim whose size it has.
struct Factor {
  Name name;
  Name dim;
  bool operator==(const Factor&) const = default;
};
using Factors = std::vector<Factor>;

/// The factors of a dim, the first major; groups of groups are flat. `H` with `dim H = (K D)` gives
/// K and D; an alias S of a group gives factors of its own, `S.0` and `S.1`.
Factors factors(const ir::Program& program, const Dim& dim);
/// Of all dims of a shape, in order.
Factors factors(const ir::Program& program, const Shape& shape);

/// The factor of `dim` that its axes split: the first that is not declared of size 1.
size_t leading(const ir::Program& program, const Dim& dim);
size_t leading(const ir::Program& program, const std::vector<Name>& dims);
/// The index of a position that the axes of the position split; none of an empty position.
std::optional<ir::IndexId> leading(const ir::Program& program, const ir::Indices& indices,
                                   const ir::Position& position);

}  // namespace shardproof::elaborate
