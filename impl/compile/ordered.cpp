#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// The lines of x along dim `from`; `strides`: those of the result along x's dims, `along` its own
/// on the line.
Ordered lines_of(const Ref& x, size_t from, const std::vector<int64_t>& strides, int64_t along) {
  Ordered op;
  op.element = x.element;
  op.entries = x.extents[from];
  op.x_stride = x.strides[from];
  op.to_stride = along;
  op.lines.strides.resize(2);
  for (size_t d = 0; d < x.extents.size(); ++d) {
    if (d == from) continue;
    op.lines.extents.push_back(x.extents[d]);
    op.lines.strides[0].push_back(strides[d]);
    op.lines.strides[1].push_back(x.strides[d]);
  }
  op.lines = coalesced(op.lines);
  return op;
}

/// The `k` largest along the dim of x that the result lacks; `own`: the result's label for them.
void largest(const Site& site, size_t result, const Labels& from, const Labels& to, size_t dim,
             const Dim& own, bool positions) {
  if (!site.wanted(result)) return;
  const Ref x = site.ref(0), out = site.create(result);
  Labels named = from;
  named[dim] = own;
  const size_t place = position_of(to, own);
  const int64_t k = place < to.size() ? out.extents[place] : 1;
  std::vector<int64_t> extents = x.extents;
  extents[dim] = k;
  const std::vector<int64_t> strides = strides_along(named, extents, to, out);
  if (k > x.extents[dim])
    throw PlanError(site.compiler.place() + ": the " + std::to_string(k) + " largest of " +
                    std::to_string(x.extents[dim]) + " entries");
  Ordered op = lines_of(x, dim, strides, strides[dim]);
  op.fn = positions ? OrderedFn::largest_at : OrderedFn::largest;
  op.k = k;
  site.compiler.kernel(positions ? "argmax" : "top_k", std::move(op), out, {x});
  site.define(out, result);
}

}  // namespace

void compile(const ir::Ordered& op, const Site& site) {
  const Ref x = site.ref(0), to = site.create();
  if (x.extents != to.extents)
    throw PlanError(site.compiler.place() + ": the result has other extents");
  Ordered kernel = lines_of(x, op.dim, to.strides, to.strides[op.dim]);
  const bool sums = op.fn == ir::OrderedFn::cumsum;
  kernel.fn = sums ? OrderedFn::cumsum : OrderedFn::argsort;
  site.compiler.kernel(sums ? "cumsum" : "argsort", std::move(kernel), to, {x});
  site.define(to);
}

void compile(const ir::Argmax& op, const Site& site) {
  const Labels from = labels_of(op.pattern.left.at(0)), to = labels_of(op.pattern.right);
  const Dim lost = extra_label(from, to, from.at(0));
  largest(site, 0, from, to, position_of(from, lost), Dim{{"[largest]"}}, true);
}

void compile(const ir::TopK& op, const Site& site) {
  const Labels from = labels_of(op.pattern.left.at(0)), to = labels_of(op.pattern.right);
  const Dim lost = extra_label(from, to, from.at(0));
  const size_t dim = position_of(from, lost);
  const Dim own = extra_label(to, from, from[dim]);
  largest(site, 0, from, to, dim, own, false);
  largest(site, 1, from, to, dim, own, true);
}

}  // namespace shardproof::compile
