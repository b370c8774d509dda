#include "spec/lower/copied_block.h"

#include <map>

namespace shardproof::lower {

namespace {

using ir::Arith;
using ir::ValueId;

/// Gives the values of a block new names.
struct Renamer {
  ir::Function& function;
  std::map<ValueId, ValueId> names = {};

  ValueId fresh(ValueId like) {
    function.values.push_back(ir::Value(function.values.at(like)));
    return static_cast<ValueId>(function.values.size() - 1);
  }
  void rename(ValueId& value) const {
    if (const auto found = names.find(value); found != names.end()) value = found->second;
  }
  void rename(std::vector<ValueId>& values) const {
    for (ValueId& each : values) rename(each);
  }
  void rename(Arith& arith) const {
    rename(arith.value);
    for (Arith& arg : arith.args) rename(arg);
  }
  void make(std::vector<ValueId>& values) {
    for (ValueId& each : values)
      if (each != ir::no_value && !names.contains(each)) names[each] = fresh(each);
    rename(values);
  }
  ir::Block copy(const ir::Block& block) {
    ir::Block result = block;
    make(result.params);
    for (ir::Instr& instr : result.instrs) {
      rename(instr.operands);
      std::visit(
          [&](auto& op) {
            if constexpr (requires { op.body; })
              op.body = std::make_shared<ir::Block>(copy(*op.body));
            if constexpr (requires { op.created; }) rename(op.created.axes_from);
          },
          instr.op);
      make(instr.results);
    }
    for (ir::Requirement& each : result.requirements) rename(each.condition);
    rename(result.next), rename(result.emit);
    return result;
  }
};

}  // namespace

ir::Block copied_block(ir::Function& function, const ir::Block& block) {
  return Renamer{function}.copy(block);
}

}  // namespace shardproof::lower
