#pragma once
// An op by the indices of its pattern: opens operands to indices, and closes the result to the
// positions of its type.
#include "impl/compile/compiler.h"

namespace shardproof::compile {

/// Adds the local extents of the indices of these positions, which have the axes of `type`.
/// `extents`: by index, 0 if not known yet. Throws PlanError if an index has two extents.
void add_extents(const Placement& placement, const ir::Indices& in, const Positions& positions,
                 const Shape& type, std::vector<int64_t>& extents);

class Opening {
 public:
  Opening(const Site& site, const ir::Pattern& pattern);

  View operand(size_t i) const;
  /// `ref`, with the positions of operand i, by its indices.
  View operand(size_t i, const Ref& ref) const;
  /// The result's indices.
  Ids right() const { return flat(in_.right); }
  std::vector<int64_t> extents(const Ids& ids) const;
  /// The view along the positions of the result, if each of them has one stride.
  std::optional<View> as_result(const View& view) const {
    return closed(view, in_.right, extents_);
  }
  /// Sets the result to these entries; repeats them along indices that the view lacks.
  void define(const View& view) const;

  const Site& site;

 private:
  const ir::Indices& in_;
  std::vector<int64_t> extents_;  ///< by index
};

}  // namespace shardproof::compile
