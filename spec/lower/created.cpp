// Tensors that are created from an index, from a key or from nothing.
#include "spec/lower/context.h"

namespace shardproof::lower {

Results lower_op(Context& c, const ir::Iota& op, const Site&) {
  const std::vector<Vars> all = c.positions(op.created.shape.dims);
  return {{flat(all), c.a.iota(c.join(all.at(op.dim)))}};
}

/// An opaque function of the key and the row-major index in the whole tensor.
Results lower_op(Context& c, const ir::Random& op, const Site& site) {
  const Vars all = c.vars(op.created.shape.dims);
  const char* name = op.fn == ir::RandomFn::uniform ? "uniform" : "normal";
  algebra::LeafFacts facts;
  facts.fraction = op.fn == ir::RandomFn::uniform;
  return {{all, c.a.opaque(name, {}, {site.operand(0).body, c.join(all)}, facts)}};
}

Results lower_op(Context& c, const ir::Zeros& op, const Site&) {
  return {{c.vars(op.created.shape.dims), c.a.number(0)}};
}

Results lower_op(Context& c, const ir::Fold& op, const Site& site) {
  const Nf key = site.operand(0).body;
  const Nf folded = op.tag ? c.a.opaque("fold \"" + *op.tag + "\"", {}, {key})
                           : c.a.opaque("fold", {}, {key, c.as_index(site.operand(1).body)});
  return {{site.operand(0).index, folded}};
}

}  // namespace shardproof::lower
