#pragma once
// Operands whose entries are known without a run.
#include <optional>
#include <vector>

#include "spec/ir/walk.h"

namespace shardproof {

/// The dim whose index each entry of operand `i` is, if the operand is an iota or a cast of one.
inline std::optional<size_t> iota_of(const ir::Block& body,
                                     const std::vector<ir::ValueId>& operands, size_t i) {
  const ir::Instr* made = i < operands.size() ? defining_instr(body, operands[i]) : nullptr;
  while (made) {
    const auto* cast = std::get_if<ir::Cast>(&made->op);
    if (!cast || cast->to == Dtype::boolean) break;
    made = defining_instr(body, made->operands.at(0));
  }
  const auto* iota = made ? std::get_if<ir::Iota>(&made->op) : nullptr;
  return iota ? std::optional(iota->dim) : std::nullopt;
}

/// The first operand that is the same value as operand `i`; none if that is `i` itself.
inline std::optional<size_t> same_as(const std::vector<ir::ValueId>& operands, size_t i) {
  for (size_t k = 0; k < i && i < operands.size(); ++k)
    if (operands[k] == operands[i]) return k;
  return std::nullopt;
}

}  // namespace shardproof
