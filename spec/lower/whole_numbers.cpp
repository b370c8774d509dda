// Sizes that stand where whole numbers do: `by=|L|/2` assumes that |L|/2 is a whole number.
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

/// Whether operand i, a number, is used as an integer: as a position, beside an integer, or as one.
bool is_integer_place(const ir::Program& program, const Site& site, size_t i) {
  const ir::Op& op = site.instr.op;
  if (std::holds_alternative<ir::Cast>(op)) return false;
  if (std::holds_alternative<ir::Roll>(op) || std::holds_alternative<ir::Ppermute>(op) ||
      std::holds_alternative<ir::Read>(op) || std::holds_alternative<ir::Entry>(op))
    return i == 1;
  if (std::holds_alternative<ir::Write>(op)) return i == 2;
  if (const auto* call = std::get_if<ir::Call>(&op)) {
    const ir::Function& callee = program.functions.at(call->function);
    return i < callee.params.size() && is_integer(callee.values.at(callee.params[i]).type.dtype);
  }
  if (std::holds_alternative<ir::Binary>(op)) return is_integer(site.type(1 - i).dtype);
  for (size_t k = 0; k < site.instr.results.size(); ++k)
    if (site.instr.results[k] != ir::no_value && is_integer(site.result(k).type.dtype)) return true;
  return false;
}

}  // namespace

void Context::note_whole_numbers(const Site& site) {
  for (size_t i = 0; i < site.instr.operands.size(); ++i) {
    if (site.type(i).dtype != Dtype::number || !is_integer_place(program, site, i)) continue;
    const Nf value = site.operand(i).body;
    if (a.known_integer(value)) continue;
    const std::string shown = a.show(value);
    if (a.as_number(value)) never(shown + " to be a whole number");
    assume_whole(shown + " is a whole number", value);
  }
}

}  // namespace shardproof::lower
