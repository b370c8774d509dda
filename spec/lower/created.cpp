// Tensors made of an index, a key or nothing.
#include "spec/lower/context.h"

namespace shardproof::lower {

Results lower_op(Context& c, const ir::Iota& op, const Site&) {
  const Slots all = c.slots(op.created.shape.dims);
  return {c.tensor(all, c.a.iota(c.join(c.slots(op.created.shape.dims.at(op.dim).dim))))};
}

/// A function of the key and the row-major index of the whole tensor.
Results lower_op(Context& c, const ir::Random& op, const Site& site) {
  const Slots all = c.slots(op.created.shape.dims);
  const char* name = op.fn == ir::RandomFn::uniform ? "uniform" : "normal";
  return {c.tensor(all, c.a.opaque(name, {}, {site.operand(0).body, c.join(all)}))};
}

Results lower_op(Context& c, const ir::Zeros& op, const Site&) {
  return {c.tensor(c.slots(op.created.shape.dims), c.a.number(0))};
}

Results lower_op(Context& c, const ir::Fold& op, const Site& site) {
  const Nf key = site.operand(0).body;
  const Nf folded = op.tag ? c.a.opaque("fold \"" + *op.tag + "\"", {}, {key})
                           : c.a.opaque("fold", {}, {key, c.as_index(site.operand(1).body)});
  return {{site.operand(0).index, folded}};
}

}  // namespace shardproof::lower
