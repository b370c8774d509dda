#include "spec/check/set_consts.h"

#include <cstdio>

namespace shardproof {
namespace {

void set_consts(ir::Block& block, const std::map<Name, double>& set) {
  for (ir::Instr& instr : block.instrs) {
    if (auto* number = std::get_if<ir::Number>(&instr.op))
      if (auto found = set.find(number->constant); found != set.end()) {
        char text[40];
        std::snprintf(text, sizeof text, "%.15g", found->second);
        number->text = text;
        number->value = found->second;
      }
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.body; }) set_consts(*op.body, set);
        },
        instr.op);
  }
}

}  // namespace

void set_consts(ir::Program& program, const std::map<Name, double>& set) {
  for (const auto& [name, value] : set)
    if (auto found = program.consts.find(name); found != program.consts.end())
      found->second = value;
  for (ir::Function& function : program.functions) set_consts(function.body, set);
}

}  // namespace shardproof
