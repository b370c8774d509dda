#pragma once
// Converts steps to row-wise kernels (kernels/rowwise.h), and fuses two of them.
#include <optional>

#include "impl/plan/memory.h"

namespace shardproof::plan {

/// A row-wise kernel with views of its operands, which are packed.
struct Rows {
  Rowwise op;
  std::vector<Ref> inputs, outputs;

  /// The number of entries of such an operand.
  int64_t count(Per per) const;
  double bytes(const Rowwise::Input& input) const;
  double bytes(const Rowwise::Output& output) const;
};

/// The step as a row-wise kernel, if possible: a chain or a copy whose operands are whole rows,
/// columns or entries in order; a norm or its gradient; the gradient of a cross-entropy; a sum
/// along rows or over rows.
std::optional<Rows> rows_of(const Step& step);

/// Fuses both; `second` reads the first one's outputs from registers. None if they have different
/// rows, or exceed a kernel's limits. `keeps`: outputs of `first` with other readers; the others
/// are dropped.
std::optional<Rows> joined(const Rows& first, const Rows& second, const std::vector<bool>& keeps);

/// Whether both views start at the same entry.
bool same_place(const Ref& a, const Ref& b);

}  // namespace shardproof::plan
