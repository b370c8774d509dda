// Another value of the same dims and dtype: an older one, a weight for its moment, a value from
// before its reduction.
#include <cmath>

#include "properties/faults/families.h"
#include "spec/ir/walk.h"

namespace shardproof::faults {
namespace {

/// A literal stands for a literal, a size for a size; a whole number, which may index, for one.
bool same_kind(const Ground& ground, ir::ValueId a, ir::ValueId b) {
  if (!ground.is_number(a)) return true;
  const ir::Instr* x = defining_instr(ground.function.body, a);
  const ir::Instr* y = defining_instr(ground.function.body, b);
  if (!x || !y || x->op.index() != y->op.index()) return false;
  const auto whole = [](const ir::Instr& instr) {
    const auto* number = std::get_if<ir::Number>(&instr.op);
    return !number || number->value == std::floor(number->value);
  };
  return whole(*x) == whole(*y);
}

/// The value that is saved or whose type is stated.
ir::ValueId root(const Ground& ground, ir::ValueId value) {
  const ir::Instr* maker = defining_instr(ground.function.body, value);
  const bool renames = maker && (std::holds_alternative<ir::Save>(maker->op) ||
                                 std::holds_alternative<ir::Ascribe>(maker->op));
  return renames ? root(ground, maker->operands.at(0)) : value;
}

/// The same literal or size, written twice.
bool same_number(const Ground& ground, ir::ValueId a, ir::ValueId b) {
  const ir::Instr* x = defining_instr(ground.function.body, a);
  const ir::Instr* y = defining_instr(ground.function.body, b);
  if (!x || !y) return false;
  if (const auto* p = std::get_if<ir::Number>(&x->op))
    if (const auto* q = std::get_if<ir::Number>(&y->op)) return p->value == q->value;
  if (const auto* p = std::get_if<ir::SizeOf>(&x->op))
    if (const auto* q = std::get_if<ir::SizeOf>(&y->op)) return p->name == q->name;
  return false;
}

bool can_replace(const Ground& ground, ir::ValueId other, ir::ValueId used) {
  if (!ground.alike(other, used) || root(ground, other) == root(ground, used)) return false;
  return same_kind(ground, other, used) && !same_number(ground, other, used);
}

Family family_of(const Ground& ground, ir::ValueId value) {
  return ground.is_number(value) ? Family::offset : Family::stale_value;
}

void at_end(const Ground& ground, const Site& site, Faults& faults) {
  for (ir::ValueId other : site.earlier) {
    if (!can_replace(ground, other, site.value)) continue;
    Fault fault = replaced(site, family_of(ground, other),
                           shown(ground, other) + " for " + shown(ground, site.value), {});
    fault.end = site.end;
    fault.position = site.position;
    fault.value = other;
    faults.push_back(std::move(fault));
  }
}

}  // namespace

void stale_values(const Ground& ground, const Site& site, Faults& faults) {
  if (!site.instr) return at_end(ground, site, faults);
  for (size_t i = 0; i < site.instr->operands.size(); ++i) {
    const ir::ValueId used = site.instr->operands[i];
    for (ir::ValueId other : site.earlier) {
      if (!can_replace(ground, other, used)) continue;
      ir::Instr instr = *site.instr;
      instr.operands[i] = other;
      faults.push_back(replaced(
          site, family_of(ground, used),
          shown(ground, other) + " for " + shown(ground, used) + " in " + ir::name_of(instr.op),
          {std::move(instr)}));
    }
  }
}

}  // namespace shardproof::faults
