// Another number, another size, an index that is off by one or runs along another dim, a loop that
// runs the other way.
#include <cstdio>

#include "properties/faults/families.h"

namespace shardproof::faults {
namespace {

ir::Number number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  ir::Number result;
  result.text = text;
  result.value = value;
  return result;
}

void other_numbers(const Site& site, const ir::Number& op, Faults& faults) {
  const double v = op.value;
  for (double other : {v + 1, 2 * v, 0.0})
    if (other != v && (other != 0.0 || v != 1))  // 2 * 0 is 0, and 0 + 1 is counted once
      faults.push_back(
          with_op(site, Family::offset, number(other).text + " for " + op.text, number(other)));
}

/// Every dim of the function's own values that has another size.
void other_sizes(const Ground& ground, const Site& site, const ir::SizeOf& op, Faults& faults) {
  std::vector<Name> names;
  for (const Type& type : ground.typing.types)
    for (const Split& split : type.dims)
      for (const Name& name : ground.program.base(split.dim))
        if (name != op.name && ground.program.dims.count(name) &&
            std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
  for (const Name& name : names)
    faults.push_back(with_op(site, Family::offset, "|" + name + "| for |" + op.name + "|",
                             ir::SizeOf{name, false}));
  for (const Axis& axis : ground.axes)
    if (!op.axis || axis != op.name)
      faults.push_back(with_op(site, Family::offset, "|" + axis + "| for |" + op.name + "|",
                               ir::SizeOf{axis, true}));
}

void other_indices(const Ground& ground, const Site& site, const ir::Iota& op, Faults& faults) {
  for (size_t dim = 0; dim < op.created.shape.dims.size(); ++dim)
    if (dim != op.dim) {
      ir::Iota other = op;
      other.dim = dim;
      faults.push_back(with_op(site, Family::offset,
                               "iota along " + to_string(op.created.shape.dims[dim].dim), other));
    }
  const ir::ValueId one = fresh_id(ground, 1);
  Fault fault = followed_by(ground, site, Family::offset, "iota + 1",
                            {{number(1), {}, {one}, site.instr->place, {}}},
                            ir::Binary{ir::BinaryFn::add}, {ir::no_value, one});
  fault.fresh.push_back(fresh_number());
  faults.push_back(std::move(fault));
}

void other_comparisons(const Site& site, const ir::Binary& op, Faults& faults) {
  using enum ir::BinaryFn;
  const std::pair<ir::BinaryFn, ir::BinaryFn> strict[] = {{le, lt}, {ge, gt}};
  for (const auto& [a, b] : strict)
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}})
      if (op.fn == from)
        faults.push_back(with_op(
            site, Family::offset,
            std::string(ir::name_of(ir::Binary{to})) + " for " + ir::name_of(op), ir::Binary{to}));
}

}  // namespace

void offsets(const Ground& ground, const Site& site, Faults& faults) {
  if (!site.instr) return;
  const ir::Op& op = site.instr->op;
  if (const auto* each = std::get_if<ir::Number>(&op)) other_numbers(site, *each, faults);
  if (const auto* each = std::get_if<ir::SizeOf>(&op)) other_sizes(ground, site, *each, faults);
  if (const auto* each = std::get_if<ir::Iota>(&op)) other_indices(ground, site, *each, faults);
  if (const auto* each = std::get_if<ir::Binary>(&op)) other_comparisons(site, *each, faults);
  if (const auto* scan = std::get_if<ir::Scan>(&op)) {
    ir::Scan other = *scan;
    other.reverse = !other.reverse;
    faults.push_back(with_op(site, Family::offset, "the scan runs the other way", other));
  }
}

}  // namespace shardproof::faults
