#pragma once
// Parts of a block: the instructions that some values need.
#include <set>

#include "spec/ir/program.h"

namespace shardproof::compile {

using ValueIds = std::set<ir::ValueId>;
using Instrs = std::set<const ir::Instr*>;

/// Values of the block, loop bodies' too: parameters and results.
ValueIds defined_in(const ir::Block& block);
/// What the block reads and does not define.
ValueIds needs_of(const ir::Block& block);
/// The instruction of the block itself that makes a value; null where it has none.
const ir::Instr* maker_of(const ir::Block& block, ir::ValueId value);

/// Instructions of one block, in its order.
class Slice {
 public:
  /// What `wanted` needs, without `left_out` and what only those need. A library call is taken
  /// whole.
  Slice(const ir::Block& block, ValueIds wanted, const Instrs& left_out);

  const ir::Block& block() const { return result_; }
  /// What the slice reads and does not define, `wanted` included.
  const ValueIds& needs() const { return needs_; }
  /// This slice without the instructions of another one of the same block.
  ir::Block without(const Slice& other) const;

 private:
  const ir::Block& whole_;
  std::vector<bool> taken_;
  ValueIds needs_;
  ir::Block result_;
};

}  // namespace shardproof::compile
