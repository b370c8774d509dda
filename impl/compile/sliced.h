#pragma once
// Slices of a block: the instructions that some values need.
#include <set>

#include "spec/ir/program.h"

namespace shardproof::compile {

using ValueIds = std::set<ir::ValueId>;
using Instrs = std::set<const ir::Instr*>;

/// Values that the block defines, including loop bodies: parameters and results.
ValueIds defined_in(const ir::Block& block);
/// Values that the block reads but does not define.
ValueIds needs_of(const ir::Block& block);
/// The instruction of the block that defines a value; null if none does.
const ir::Instr* maker_of(const ir::Block& block, ir::ValueId value);

/// Instructions of one block, in its order.
class Slice {
 public:
  /// The instructions that `wanted` needs, without `left_out` and what only those need. A library
  /// call is included as a whole.
  Slice(const ir::Block& block, ValueIds wanted, const Instrs& left_out);

  const ir::Block& block() const { return result_; }
  /// Values that the slice reads but does not define, including `wanted`.
  const ValueIds& needs() const { return needs_; }
  /// This slice without the instructions of another slice of the same block.
  ir::Block without(const Slice& other) const;

 private:
  const ir::Block& whole_;
  std::vector<bool> taken_;
  ValueIds needs_;
  ir::Block result_;
};

}  // namespace shardproof::compile
