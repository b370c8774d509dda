#pragma once
// Visits the instructions of a function, including loop bodies.
#include "spec/ir/program.h"

namespace shardproof {

inline const ir::Block* body_of(const ir::Op& op) {
  return std::visit(
      [](const auto& each) -> const ir::Block* {
        if constexpr (requires { each.body; }) return each.body.get();
        return nullptr;
      },
      op);
}

inline const ir::Created* created_of(const ir::Op& op) {
  return std::visit(
      [](const auto& each) -> const ir::Created* {
        if constexpr (requires { each.created; }) return &each.created;
        return nullptr;
      },
      op);
}

template <class Visit>
void for_each_instr(const ir::Block& block, Visit&& visit) {
  for (const ir::Instr& instr : block.instrs) {
    visit(instr);
    if (const ir::Block* body = body_of(instr.op)) for_each_instr(*body, visit);
  }
}

/// The instruction that defines a value; null for a parameter or a carry.
inline const ir::Instr* defining_instr(const ir::Block& block, ir::ValueId value) {
  const ir::Instr* found = nullptr;
  for_each_instr(block, [&](const ir::Instr& instr) {
    for (ir::ValueId result : instr.results)
      if (result == value) found = &instr;
  });
  return found;
}

}  // namespace shardproof
