#pragma once
// What the names of a pattern stand for. Made once by spec/elaborate; every other folder of spec,
// and the compiler of plans, reads this and never compares names of dims in a pattern again.
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

/// A position of a type as its indices, the first major. The axes of the position are those of its
/// leading index (leading() in spec/elaborate).
using Position = std::vector<IndexId>;

/// The indices of an op. Two positions that have the same id are the same index, of one size and
/// one split, in whatever operand, alone or as a factor of a group.
struct Indices {
  std::vector<PatternIndex> all;
  std::vector<std::vector<Position>> left;  ///< by tensor operand, by position of its type
  std::vector<Position> right;              ///< by position of the result's type
  bool operator==(const Indices&) const = default;
};

}  // namespace shardproof::ir
