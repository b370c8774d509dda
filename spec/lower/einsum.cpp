// Sums of products, and ops that only reorder, regroup or move data.
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

/// The product of the operands, summed in one go over the indices that the result lacks; the
/// algebra merges the digits of grouped sums.
Results product(Context& c, const Site& site, const ir::Pattern& pattern) {
  const Indices in(c, site, pattern);
  const Vars right = in.right();
  Nf body = c.a.number(1);
  for (size_t i = 0; i < in.operands(); ++i) {
    const bool cotangent = site.frame.upstream.at(site.instr.operands.at(i));
    const Nf x = in.operand(i);
    body = c.a.mul(body, cotangent ? c.contracted(site.instr, x) : x);
  }
  return {{right, c.a.sum(without(in.all(), right), body)}};
}

Nf greatest(Context& c, const Vars& over, Nf x) {
  if (const auto least = algebra::least_index(c.a, over, c.join(over), x))
    return c.at({over, least->greatest}, c.split(argmax(c, least->row, over), over));
  return c.a.max(over, x);
}

}  // namespace

Results lower_op(Context& c, const ir::Einsum& op, const Site& site) {
  return product(c, site, op.pattern);
}

Results lower_op(Context& c, const ir::Reduce& op, const Site& site) {
  if (op.fn == ir::ReduceFn::sum) return product(c, site, op.pattern);
  const Indices in(c, site, op.pattern);
  const Vars right = in.right(), over = without(in.left(0), right);
  const Nf x = in.operand(0);
  const bool max = op.fn == ir::ReduceFn::max;
  return {{right, max ? greatest(c, over, x) : c.a.neg(greatest(c, over, c.a.neg(x)))}};
}

Results lower_op(Context& c, const ir::Expand& op, const Site& site) {
  return product(c, site, op.pattern);
}
Results lower_op(Context& c, const ir::Rearrange& op, const Site& site) {
  return product(c, site, op.pattern);
}

/// A redistribution is the identity on the whole tensor.
Results lower_op(Context& c, const ir::Collective& op, const Site& site) {
  return product(c, site, op.pattern);
}

}  // namespace shardproof::lower
