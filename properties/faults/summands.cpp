// One side of a sum or a difference is left out, or a difference becomes a sum.
#include "properties/faults/families.h"

namespace shardproof::faults {
namespace {

void drop(const Ground& ground, const Site& site, size_t kept, Faults& faults) {
  const ir::ValueId value = site.instr->operands.at(kept);
  if (!ground.alike(value, site.instr->results.at(0))) return;
  faults.push_back(passed_on(site, Family::drop_summand,
                             shown(ground, site.instr->operands.at(1 - kept)) + " dropped from " +
                                 ir::name_of(site.instr->op),
                             value));
}

}  // namespace

void drop_summands(const Ground& ground, const Site& site, Faults& faults) {
  const auto* op = site.instr ? std::get_if<ir::Binary>(&site.instr->op) : nullptr;
  if (!op || (op->fn != ir::BinaryFn::add && op->fn != ir::BinaryFn::sub)) return;
  const bool sum = op->fn == ir::BinaryFn::add;
  drop(ground, site, 0, faults);
  if (sum) {
    drop(ground, site, 1, faults);
  } else if (ground.alike(site.instr->operands.at(1), site.instr->results.at(0))) {
    Fault negated =
        with_op(site, Family::drop_summand,
                shown(ground, site.instr->operands[0]) + " dropped from -", ir::Unary{});
    negated.instead[0].operands = {site.instr->operands[1]};
    negated.instead[0].operand_ranges.clear();
    faults.push_back(std::move(negated));
  }
  faults.push_back(with_op(site, Family::drop_summand, sum ? "- for +" : "+ for -",
                           ir::Binary{sum ? ir::BinaryFn::sub : ir::BinaryFn::add}));
}

}  // namespace shardproof::faults
