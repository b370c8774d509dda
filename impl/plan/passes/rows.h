#pragma once
// Steps as chains along rows (kernels/rowwise.h), and two of them as one.
#include <optional>

#include "impl/plan/memory.h"

namespace shardproof::plan {

/// A chain along rows with the views that are its operands, without gaps.
struct Rows {
  Rowwise op;
  std::vector<Ref> inputs, outputs;

  /// Of what an operand has.
  int64_t count(Per per) const;
  double bytes(const Rowwise::Input& input) const;
  double bytes(const Rowwise::Output& output) const;
};

/// The step in this form, if it has one: a chain or a copy whose operands are whole rows, columns
/// or entries in order, a norm or its gradient, the gradient of a cross-entropy, a sum over rows or
/// along them.
std::optional<Rows> rows_of(const Step& step);

/// Both at once; `second` has what it reads of the first one's outputs from there. None where the
/// two are not along the same rows, or too much for a kernel. `keeps`: the outputs of `first` that
/// another step reads; the others go.
std::optional<Rows> joined(const Rows& first, const Rows& second, const std::vector<bool>& keeps);

/// Whether the two begin at the same entry.
bool same_place(const Ref& a, const Ref& b);

}  // namespace shardproof::plan
