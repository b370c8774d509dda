// Sums of products, and what only changes the order, the grouping or the place of the data.
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

/// Operand i read under the names of its pattern.
Nf read_as(Context& c, const Site& site, const ir::Pattern& pattern, size_t i, Slots* names) {
  const Slots left = c.slots(pattern.left.at(i).dims);
  for (const Slot& slot : left)
    if (!contains(*names, slot)) names->push_back(slot);
  return c.at(site.operand(i), left);
}

/// Pairs each left slot that has none with the first free right slot that agrees in `name`.
void pair_by(Name Slot::*name, const Slots& left, Slots* free,
             std::vector<std::optional<Slot>>* to) {
  for (size_t i = 0; i < left.size(); ++i) {
    size_t k = 0;
    while (k < free->size() && (*free)[k].*name != left[i].*name) ++k;
    if ((*to)[i] || k == free->size()) continue;
    (*to)[i] = (*free)[k];
    free->erase(free->begin() + static_cast<long>(k));
  }
}

}  // namespace

Slots renamed(const Slots& left, const Slots& right) {
  std::vector<std::optional<Slot>> to(left.size());
  Slots free = right, result;
  for (Name Slot::*name : {&Slot::key, &Slot::factor, &Slot::base}) pair_by(name, left, &free, &to);
  for (const auto& slot : to) {
    if (!slot) throw std::logic_error("a dim of the operand is not in the result");
    result.push_back(*slot);
  }
  return result;
}

namespace {

void same_names(const Slots& right, const Slots& names) {
  if (!without(right, names).empty())
    throw std::logic_error("a dim of the result is in no operand");
}

Results rearranged(Context& c, const Site& site, const ir::Pattern& pattern) {
  const Slots left = c.slots(pattern.left.at(0).dims), right = c.slots(pattern.right.dims);
  return {c.tensor(right, c.at(site.operand(0), renamed(left, right)))};
}

}  // namespace

/// All labels are summed at once: the algebra merges their digits.
Results lower_op(Context& c, const ir::Einsum& op, const Site& site) {
  Slots names;
  Nf product = c.a.number(1);
  for (size_t i = 0; i < op.pattern.left.size(); ++i)
    product = c.a.mul(product, read_as(c, site, op.pattern, i, &names));
  const Slots right = c.slots(op.pattern.right.dims);
  same_names(right, names);
  return {c.tensor(right, c.a.sum(c.vars(without(names, right)), product))};
}

Results lower_op(Context& c, const ir::Reduce& op, const Site& site) {
  Slots names;
  const Nf x = read_as(c, site, op.pattern, 0, &names);
  const Slots right = c.slots(op.pattern.right.dims);
  same_names(right, names);
  const std::vector<Var> over = c.vars(without(names, right));
  switch (op.fn) {
    case ir::ReduceFn::sum:
      return {c.tensor(right, c.a.sum(over, x))};
    case ir::ReduceFn::max:
      return {c.tensor(right, c.a.max(over, x))};
    case ir::ReduceFn::min:
      return {c.tensor(right, c.a.neg(c.a.max(over, c.a.neg(x))))};
  }
  throw std::logic_error("reduce");
}

Results lower_op(Context& c, const ir::Expand& op, const Site& site) {
  return rearranged(c, site, op.pattern);
}
Results lower_op(Context& c, const ir::Rearrange& op, const Site& site) {
  return rearranged(c, site, op.pattern);
}

/// A redistribution is the identity on the whole tensor.
Results lower_op(Context& c, const ir::Collective& op, const Site& site) {
  return rearranged(c, site, op.pattern);
}

}  // namespace shardproof::lower
