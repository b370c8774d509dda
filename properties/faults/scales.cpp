// A factor, a divisor, a sign or a bound is left out; or a value is multiplied with the size of an
// axis, or divided by it.
#include "properties/faults/families.h"

namespace shardproof::faults {
namespace {

using enum ir::BinaryFn;

bool bounds(ir::BinaryFn fn) { return fn == maximum || fn == minimum; }

bool may_be_scaled(const ir::Op& op) {
  return std::holds_alternative<ir::Collective>(op) || std::holds_alternative<ir::Einsum>(op) ||
         std::holds_alternative<ir::Reduce>(op) || std::holds_alternative<ir::Call>(op) ||
         std::holds_alternative<ir::Grad>(op) || std::holds_alternative<ir::Total>(op);
}

}  // namespace

void drop_scales(const Ground& ground, const Site& site, Faults& faults) {
  if (!site.instr) return;
  if (const auto* unary = std::get_if<ir::Unary>(&site.instr->op);
      unary && unary->fn == ir::UnaryFn::neg)
    faults.push_back(
        passed_on(site, Family::drop_scale, "the sign dropped", site.instr->operands.at(0)));
  const auto* op = std::get_if<ir::Binary>(&site.instr->op);
  if (!op || !(op->fn == mul || op->fn == div || bounds(op->fn))) return;
  for (size_t kept = 0; kept < (op->fn == div ? 1 : 2); ++kept) {
    const ir::ValueId value = site.instr->operands.at(kept);
    if (!ground.alike(value, site.instr->results.at(0))) continue;
    faults.push_back(passed_on(site, Family::drop_scale,
                               shown(ground, site.instr->operands.at(1 - kept)) + " dropped from " +
                                   ir::name_of(site.instr->op),
                               value));
  }
}

void axis_scales(const Ground& ground, const Site& site, Faults& faults) {
  if (!site.instr || !may_be_scaled(site.instr->op)) return;
  for (size_t i = 0; i < site.instr->results.size(); ++i)
    for (const Axis& axis : ground.axes)
      for (ir::BinaryFn fn : {mul, div}) {
        const ir::ValueId result = site.instr->results[i], size = fresh_id(ground, 1);
        if (result == ir::no_value || !is_float(ground.type(result).dtype)) continue;
        Fault fault =
            followed_by(ground, site, Family::axis_scale,
                        shown(ground, result) + (fn == mul ? " * |" : " / |") + axis + "|",
                        {{ir::SizeOf{axis, true}, {}, {size}, site.instr->place, {}}},
                        ir::Binary{fn}, {ir::no_value, size}, i);
        fault.fresh.push_back(fresh_number());
        faults.push_back(std::move(fault));
      }
}

}  // namespace shardproof::faults
