// A total that leaves out a field, or says of another axis that it was summed.
#include "properties/faults/families.h"

namespace shardproof::faults {

void other_totals(const Ground& ground, const Site& site, Faults& faults) {
  const auto* op = site.instr ? std::get_if<ir::Total>(&site.instr->op) : nullptr;
  if (!op) return;
  for (size_t i = 0; i < site.instr->operands.size() && site.instr->operands.size() > 1; ++i) {
    ir::Instr instr = *site.instr;
    instr.operands.erase(instr.operands.begin() + static_cast<std::ptrdiff_t>(i));
    instr.operand_ranges.clear();
    faults.push_back(replaced(site, Family::total, "field " + std::to_string(i + 1) + " left out",
                              {std::move(instr)}));
  }
  for (const Axis& axis : ground.axes) {
    ir::Total other = *op;
    const bool had = other.marks.erase(axis) > 0;
    if (!had) other.marks[axis] = Mark::U;
    const std::string mark = "{U_" + axis + "}";
    faults.push_back(with_op(site, Family::total,
                             had ? mark + " dropped from total" : "total with " + mark, other));
  }
}

}  // namespace shardproof::faults
