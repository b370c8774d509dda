#pragma once
// A planted fault: one edit of one plan's body, as data, and what the body becomes with it.
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/walk.h"

namespace shardproof::faults {

enum class Family {
  drop_collective,
  duplicate_collective,
  exchange_collective,
  wrong_axis,
  wrong_dim,
  wrong_order,
  invariant,
  drop_summand,
  drop_scale,
  axis_scale,
  swap_operands,
  stale_value,
  offset,
  labels,
  total
};
constexpr size_t families = static_cast<size_t>(Family::total) + 1;
const char* to_string(Family family);

/// What a block hands on, as opposed to what its instructions use.
enum class End { next, emit, returned };

/// Exactly one of: instructions in place of one (none: `substitute` stands for its result), or
/// another value at a block's end.
struct Fault {
  Family family = Family::drop_collective;
  std::string text;  ///< "all_gather dropped"
  SourceRange range;
  size_t at = 0;  ///< the instruction's number, loops before their bodies; of an end: the loop's
  std::vector<ir::Instr> instead;
  std::vector<ir::Value> fresh;  ///< new values: their ids follow the function's own
  std::optional<std::pair<ir::ValueId, ir::ValueId>> substitute =
      {};  ///< all uses: first -> second
  std::optional<End> end = {};
  size_t position = 0;               ///< in the list of the end
  ir::ValueId value = ir::no_value;  ///< what stands there instead
};

/// The function with the fault in it, otherwise as it was.
ir::Function planted(const ir::Function& function, const Fault& fault);

}  // namespace shardproof::faults
