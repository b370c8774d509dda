#pragma once
// Visits the instructions of a function, including loop bodies, and the functions that it reaches.
#include <optional>
#include <set>
#include <utility>

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

inline ir::Block* body_of(ir::Op& op) { return const_cast<ir::Block*>(body_of(std::as_const(op))); }

/// A block whose loops have bodies of their own: instructions of a copied block share them.
inline ir::Block deep_copy(const ir::Block& block) {
  ir::Block copy = block;
  for (ir::Instr& instr : copy.instrs)
    std::visit(
        [](auto& op) {
          if constexpr (requires { op.body; })
            if (op.body) op.body = std::make_shared<ir::Block>(deep_copy(*op.body));
        },
        instr.op);
  return copy;
}

inline const ir::Created* created_of(const ir::Op& op) {
  return std::visit(
      [](const auto& each) -> const ir::Created* {
        if constexpr (requires { each.created; }) return &each.created;
        return nullptr;
      },
      op);
}

/// The function that an op calls or differentiates.
inline std::optional<size_t> callee_of(const ir::Op& op) {
  if (const auto* call = std::get_if<ir::Call>(&op)) return call->function;
  if (const auto* grad = std::get_if<ir::Grad>(&op)) return grad->function;
  return std::nullopt;
}

template <class Visit>
void for_each_instr(const ir::Block& block, Visit&& visit) {
  for (const ir::Instr& instr : block.instrs) {
    visit(instr);
    if (const ir::Block* body = body_of(instr.op)) for_each_instr(*body, visit);
  }
}

/// The block and the bodies of its loops.
template <class Visit>
void for_each_block(const ir::Block& block, Visit&& visit) {
  visit(block);
  for (const ir::Instr& instr : block.instrs)
    if (const ir::Block* body = body_of(instr.op)) for_each_block(*body, visit);
}

/// Adds the `require`s of the function's body and of the bodies of its loops, which run: all sizes
/// are at least 1. Those on values only where `of_values`.
inline void add_requirements(const ir::Function& function, bool of_values,
                             std::vector<ir::Requirement>& requirements) {
  for_each_block(function.body, [&](const ir::Block& block) {
    for (const ir::Requirement& each : block.requirements)
      if (of_values || !ir::uses_values(each.condition)) requirements.push_back(each);
  });
}

/// Adds the model of `function`, what it calls and differentiates, and what these reach.
inline void add_reached(const ir::Program& program, const ir::Function& function,
                        std::set<size_t>& reached) {
  const auto add = [&](size_t f) {
    if (reached.insert(f).second) add_reached(program, program.functions.at(f), reached);
  };
  if (function.model) add(*function.model);
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (const auto callee = callee_of(instr.op)) add(*callee);
  });
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
