#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// The loops over the dims of `own` that `labels` lacks.
Labels summed_labels(const std::vector<Labels>& own, const Labels& labels) {
  Labels summed;
  for (const Labels& each : own)
    for (const Dim& label : each)
      if (!has(labels, label) && !has(summed, label)) summed.push_back(label);
  return summed;
}

Ref reduce_product(Compiler& compiler, Reduction fn, const std::vector<Ref>& x,
                   const std::vector<Labels>& own, const Labels& labels, Element element) {
  Reduce op;
  op.fn = fn;
  op.output = element;
  for (const Dim& label : labels) op.kept.extents.push_back(extent_of(label, own, x));
  const Labels summed = summed_labels(own, labels);
  for (const Dim& label : summed) op.reduced.extents.push_back(extent_of(label, own, x));
  const Ref to = compiler.create(element, op.kept.extents);
  op.kept.strides.push_back(to.strides);
  for (size_t i = 0; i < x.size(); ++i) {
    op.inputs.push_back(x[i].element);
    op.kept.strides.push_back(strides_along(labels, op.kept.extents, own[i], x[i]));
    op.reduced.strides.push_back(strides_along(summed, op.reduced.extents, own[i], x[i]));
  }
  op.kept = coalesced(op.kept);
  op.reduced = coalesced(op.reduced);
  compiler.kernel("reduce", std::move(op), to, x);
  return to;
}

}  // namespace

Ref reduced(Compiler& compiler, Reduction fn, const Ref& x, const Labels& own, const Labels& labels,
            Element element) {
  return reduce_product(compiler, fn, {x}, {own}, labels, element);
}

Ref summed_product(Compiler& compiler, const Ref& a, const Labels& a_labels, const Ref& b,
                   const Labels& b_labels, const Labels& labels, Element element) {
  return reduce_product(compiler, Reduction::sum, {a, b}, {a_labels, b_labels}, labels, element);
}

void compile(const ir::Reduce& op, const Site& site) {
  constexpr Reduction fns[] = {Reduction::sum, Reduction::max, Reduction::min};
  site.define(reduced(site.compiler, fns[static_cast<size_t>(op.fn)], site.ref(0),
                      labels_of(op.pattern.left.at(0)), labels_of(op.pattern.right),
                      site.element()));
}

}  // namespace shardproof::compile
