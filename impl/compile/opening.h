#pragma once
// An op by the indices of its pattern: operands are opened to them, its result is closed to the
// positions of its type.
#include "impl/compile/compiler.h"

namespace shardproof::compile {

/// Adds the local extents of the indices of these positions, which have the axes of `type`.
/// `extents`: by index, 0 where it is not known yet. Throws PlanError where an index has two.
void add_extents(const Placement& placement, const ir::Indices& in, const Positions& positions,
                 const Shape& type, std::vector<int64_t>& extents);

class Opening {
 public:
  Opening(const Site& site, const ir::Pattern& pattern);

  View operand(size_t i) const;
  /// The result's indices.
  Ids right() const { return flat(in_.right); }
  std::vector<int64_t> extents(const Ids& ids) const;
  /// The view along the positions of the result, if each of them has one stride.
  std::optional<View> as_result(const View& view) const {
    return closed(view, in_.right, extents_);
  }
  /// The result is these entries; an index that the view has not repeats them.
  void define(const View& view) const;

  const Site& site;

 private:
  const ir::Indices& in_;
  std::vector<int64_t> extents_;  ///< by index
};

}  // namespace shardproof::compile
