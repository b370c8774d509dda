#pragma once
// The indices in a pattern. spec/elaborate computes them once; all other folders of spec, and the
// plan compiler, use them and never compare names of dims in a pattern again.
#include <cstddef>
#include <vector>

#include "spec/types/type.h"

namespace shardproof::ir {

/// One index of one op.
struct PatternIndex {
  Name dim;   ///< the plain dim whose size it has; a literal dim is its number: "2"
  Name name;  ///< as written, unique among the indices of the op; a bracketed one is "[V]"
  bool operator==(const PatternIndex&) const = default;
};

using IndexId = size_t;  ///< into Indices::all

/// The indices of a position of a type, most significant first. The axes of the position belong to
/// its leading index (leading() in spec/elaborate).
using Position = std::vector<IndexId>;

/// The indices of an op. Positions with the same id have the same index, with one size and one
/// split, in any operand, alone or as a factor of a group.
struct Indices {
  std::vector<PatternIndex> all;
  std::vector<std::vector<Position>> left;  ///< by tensor operand, by position of its type
  std::vector<Position> right;              ///< by position of the result's type
  bool operator==(const Indices&) const = default;
};

}  // namespace shardproof::ir
