#include "spec/lower/inequalities.h"

#include <algorithm>
#include <set>

#include "spec/ir/walk.h"

namespace shardproof::lower {
namespace {

/// Whether the normal form of the op has inequalities of its own.
bool makes_inequalities(const ir::Op& op) {
  return std::holds_alternative<ir::Concat>(op) || std::holds_alternative<ir::Write>(op) ||
         std::holds_alternative<ir::Ordered>(op) || std::holds_alternative<ir::Scan>(op);
}

/// Whether it compares a sum or a difference: of integers, `x < y + 1` becomes `x <= y`.
bool is_shifted(const ir::Block& body, const ir::Instr& comparison) {
  return std::any_of(
      comparison.operands.begin(), comparison.operands.end(), [&](ir::ValueId operand) {
        const ir::Instr* made = defining_instr(body, operand);
        const auto* binary = made ? std::get_if<ir::Binary>(&made->op) : nullptr;
        return binary && (binary->fn == ir::BinaryFn::add || binary->fn == ir::BinaryFn::sub);
      });
}

struct Found {
  bool strict = false, lax = false;
};

void find(const ir::Program& program, size_t function, std::set<size_t>& seen, Found& found) {
  if (!seen.insert(function).second) return;
  const ir::Block& body = program.functions.at(function).body;
  for_each_instr(body, [&](const ir::Instr& instr) {
    if (auto* binary = std::get_if<ir::Binary>(&instr.op)) {
      using enum ir::BinaryFn;
      const bool strict = binary->fn == lt || binary->fn == gt,
                 lax = binary->fn == le || binary->fn == ge;
      const bool shifts = (strict || lax) && is_shifted(body, instr);
      found.strict = found.strict || strict || shifts;
      found.lax = found.lax || lax || shifts;
    }
    if (makes_inequalities(instr.op)) found.strict = found.lax = true;
    if (const auto callee = callee_of(instr.op)) find(program, *callee, seen, found);
  });
}

}  // namespace

algebra::Inequalities inequalities_of(const ir::Program& program, size_t function) {
  Found found;
  std::set<size_t> seen;
  find(program, function, seen, found);
  if (found.strict == found.lax) return algebra::Inequalities::both;
  return found.strict ? algebra::Inequalities::strict : algebra::Inequalities::lax;
}

}  // namespace shardproof::lower
