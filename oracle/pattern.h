#pragma once
// What the names of a pattern stand for, read for one op from the pattern as written, its brackets
// and the operands' types. The rest of the checker has a reading of its own; the two are compared,
// so they share nothing.
#include <optional>

#include "oracle/run.h"

namespace shardproof::oracle {

using Indices = std::vector<size_t>;  ///< into Reading::sizes, the first major
using Counts = std::vector<size_t>;   ///< of indices, by position

/// A reading at any sizes. The same number is the same index, in whatever operand, alone or as a
/// factor of a group. A tensor is seen as having one dim for each index: a group is row-major.
struct Unsized {
  std::vector<Name> dims;     ///< by index: whose size it has
  std::vector<Indices> left;  ///< by operand
  Indices right;
  Indices bracket;  ///< of the place in brackets
  std::vector<Counts> left_counts;
  Counts right_counts;
};

/// A reading at the sizes of a point.
struct Reading {
  std::shared_ptr<const Unsized> unsized;
  std::vector<int64_t> sizes;  ///< by index
  const std::vector<Indices>& left = unsized->left;
  const Indices &right = unsized->right, &bracket = unsized->bracket;

  Extents extents(const Indices& of) const;
  /// The entries of a tensor that has the indices `own`, in the order of `over`: by index, a stride
  /// of `own`, 0 where it lacks the index.
  Positions walk(const Indices& over, const Indices& own) const;
  Extents strides(const Indices& own) const;  ///< by index
};

/// What a pattern may contain other than the names of its left side.
enum class Form {
  plain,    ///< nothing; a place in brackets on both sides is one place
  extends,  ///< new names on the right: expand, read, top_k
  renames,  ///< new names on the right for indices that are not there under their own: rearrange
  writes,   ///< the second operand's block, whatever its name; the right has the bracket's name
  joins     ///< what the operands put into the bracket on the right, whatever its name
};

/// Throws std::domain_error where the pattern means nothing for these operands.
std::shared_ptr<const Reading> read_pattern(Site& site, const ir::Pattern& pattern, Form form,
                                            size_t operands);

/// Whether both have the same dims, under the same names.
bool same_names(const std::vector<Split>& a, const std::vector<Split>& b);
bool has(const Indices& indices, size_t index);
Indices without(const Indices& indices, const Indices& others);
/// Refuses a pattern that loses an index of `all`.
void want_all(const Indices& all, const Indices& kept);

/// Indices that stand side by side, seen as one: entry n of it is n * stride from its first.
struct Stretch {
  int64_t size = 1, stride = 1;
};
/// `part` as it stands in `whole`; refused where it is torn or empty.
Stretch stretch_of(const Reading& reading, const Indices& whole, const Indices& part);

/// Where the whole position `dim` is among `dims`: pointwise ops, and entries of loops, compare
/// whole positions. Other names of one dim are different, and K is no factor of H.
std::optional<size_t> position(const ir::Program& program, const std::vector<Split>& dims,
                               const Dim& dim);

}  // namespace shardproof::oracle
