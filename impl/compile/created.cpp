#include "impl/compile/ops.h"

namespace shardproof::compile {

// The global index along the dim; the other dims repeat it without memory of their own.
void compile(const ir::Iota& op, const Site& site) {
  const std::vector<int64_t> extents = site.extents();
  const int64_t first = site.placement().first(site.result_type().dims.at(op.dim));
  Ref to = site.compiler.create(site.element(), {extents.at(op.dim)});
  site.compiler.kernel("iota", Iota{to.extents, 0, first, to.element}, to, {});
  to.strides.assign(extents.size(), 0);
  to.strides[op.dim] = 1;
  to.extents = extents;
  site.define(to);
}

// (key): a function of the key and the row-major global index, the same on every mesh.
void compile(const ir::Random& op, const Site& site) {
  const Ref to = site.create(), key = site.ref(0);
  const std::vector<int64_t> global =
      row_major(site.placement().global_extents(site.result_type()));
  Nest nest;
  nest.extents = to.extents;
  nest.strides = {to.strides, global};
  nest = coalesced(std::move(nest));
  int64_t first = 0;
  for (size_t d = 0; d < global.size(); ++d)
    first += site.placement().first(site.result_type().dims[d]) * global[d];
  const RandomFn fn = op.fn == ir::RandomFn::uniform ? RandomFn::uniform : RandomFn::normal;
  site.compiler.kernel("random", Random{nest, fn, first, to.element}, to, {key});
  site.define(to);
}

}  // namespace shardproof::compile
