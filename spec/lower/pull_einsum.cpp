// Gradients of sums of products, and of ops that only reorder, regroup or move data.
#include "spec/lower/derivative.h"

namespace shardproof::lower {

namespace {

/// The cotangent times the other operands, summed over the indices that the operand lacks.
void pull_product(Pull& p, const ir::Pattern& pattern) {
  const Indices in(p.c, p.site, pattern);
  const Nf g = p.c.contracted(p.site.instr, p.gradient(in.right()));
  for (size_t i = 0; i < in.operands(); ++i) {
    if (!p.wants(i)) continue;
    Nf product = g;
    for (size_t k = 0; k < in.operands(); ++k)
      if (k != i) product = p.c.a.mul(product, in.operand(k));
    p.give_sum(i, in.left(i), in.all(), product);
  }
}

/// The gradient of a maximum goes to its lowest index.
void pull_extreme(Pull& p, const ir::Reduce& op) {
  if (!p.wants(0)) return;
  const Indices in(p.c, p.site, op.pattern);
  const Vars left = in.left(0), right = in.right(), over = without(left, right);
  const Nf x = in.operand(0);
  const Nf at = argmax(p.c, op.fn == ir::ReduceFn::max ? x : p.c.a.neg(x), over);
  const Nf here = p.c.a.eq0(p.c.a.sub(p.c.join(over), at));
  p.give(0, {left, p.c.a.mul(p.gradient(right), here)});
}

}  // namespace

void pull_op(Pull& p, const ir::Reduce& op) {
  if (op.fn == ir::ReduceFn::sum) return pull_product(p, op.pattern);
  pull_extreme(p, op);
}

void pull_op(Pull& p, const ir::Einsum& op) { pull_product(p, op.pattern); }
void pull_op(Pull& p, const ir::Expand& op) { pull_product(p, op.pattern); }
void pull_op(Pull& p, const ir::Rearrange& op) { pull_product(p, op.pattern); }
void pull_op(Pull& p, const ir::Collective& op) { pull_product(p, op.pattern); }

}  // namespace shardproof::lower
