#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// The lines of x along dim `from`. `strides`: the result's strides along x's dims; `along`: its
/// stride on the line.
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
  op.lines = coalesced(std::move(op.lines));
  return op;
}

/// The position of operand 0 that the result lacks or replaces.
size_t worked(const ir::Pattern& pattern) {
  const Positions &left = pattern.indices.left.at(0), &right = pattern.indices.right;
  size_t at = 0;
  while (at < right.size() && right[at] == left.at(at)) ++at;
  return at;
}

/// The largest entries along position `dim` of x; the result has a position for them there, or
/// none.
void largest(const Site& site, size_t result, size_t dim, bool positions) {
  if (!site.wanted(result)) return;
  const Ref x = site.ref(0), out = site.create(result);
  Ref to = out;
  if (out.extents.size() < x.extents.size()) {
    const auto at = static_cast<std::ptrdiff_t>(dim);
    to.extents.insert(to.extents.begin() + at, 1);
    to.strides.insert(to.strides.begin() + at, 0);
  }
  const int64_t k = to.extents.at(dim);
  if (k > x.extents.at(dim))
    throw PlanError(site.compiler.place() + ": the " + std::to_string(k) + " largest of " +
                    std::to_string(x.extents[dim]) + " entries");
  Ordered op = lines_of(x, dim, to.strides, to.strides[dim]);
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

void compile(const ir::Argmax& op, const Site& site) { largest(site, 0, worked(op.pattern), true); }

void compile(const ir::TopK& op, const Site& site) {
  largest(site, 0, worked(op.pattern), false);
  largest(site, 1, worked(op.pattern), true);
}

}  // namespace shardproof::compile
