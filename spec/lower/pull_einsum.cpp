// Sums of products, and what only changes the order, the grouping or the place of the data.
#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

/// The operand's dims under the names of the result; those that are new there are summed.
void pull_renamed(Pull& p, const ir::Pattern& pattern) {
  if (!p.wants(0)) return;
  const Slots left = p.c.slots(pattern.left.at(0).dims), right = p.c.slots(pattern.right.dims);
  p.give_sum(0, renamed(left, right), right, p.gradient(right));
}

/// All dims of the operands, each once.
Slots names_of(const Context& c, const ir::Pattern& pattern) {
  Slots names;
  for (const Shape& shape : pattern.left)
    for (const Slot& slot : c.slots(shape.dims))
      if (!contains(names, slot)) names.push_back(slot);
  return names;
}

}  // namespace

/// The cotangent times the other operands, summed over what the operand lacks.
void pull_op(Pull& p, const ir::Einsum& op) {
  const Slots names = names_of(p.c, op.pattern);
  const Nf g = p.gradient(p.c.slots(op.pattern.right.dims));
  for (size_t i = 0; i < op.pattern.left.size(); ++i) {
    if (!p.wants(i)) continue;
    Nf product = g;
    for (size_t k = 0; k < op.pattern.left.size(); ++k)
      if (k != i)
        product = p.c.a.mul(product, p.c.at(p.site.operand(k), p.c.slots(op.pattern.left[k].dims)));
    p.give_sum(i, p.c.slots(op.pattern.left[i].dims), names, product);
  }
}

/// The gradient of a maximum goes to its lowest index.
void pull_op(Pull& p, const ir::Reduce& op) {
  if (!p.wants(0)) return;
  const Slots left = p.c.slots(op.pattern.left.at(0).dims),
              right = p.c.slots(op.pattern.right.dims), over = without(left, right);
  Nf g = p.gradient(right);
  if (op.fn != ir::ReduceFn::sum) {
    const Nf x = p.c.at(p.site.operand(0), left);
    const Nf at = argmax(p.c, op.fn == ir::ReduceFn::max ? x : p.c.a.neg(x), over);
    g = p.c.a.mul(g, p.c.a.eq0(p.c.a.sub(p.c.join(over), at)));
  }
  p.give(0, left, g);
}

void pull_op(Pull& p, const ir::Expand& op) { pull_renamed(p, op.pattern); }
void pull_op(Pull& p, const ir::Rearrange& op) { pull_renamed(p, op.pattern); }
void pull_op(Pull& p, const ir::Collective& op) { pull_renamed(p, op.pattern); }

}  // namespace shardproof::lower
