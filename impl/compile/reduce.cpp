#include "impl/compile/opening.h"
#include "impl/compile/ops.h"

namespace shardproof::compile {

View reduced(Compiler& compiler, Reduction fn, const std::vector<const View*>& x, const Ids& kept,
             Element element) {
  Reduce op;
  op.fn = fn;
  op.output = element;
  Ids all;
  for (const View* each : x) all = concatenated(all, each->ids);
  Ids gone;
  for (IndexId id : all)
    if (!has(kept, id) && !has(gone, id)) gone.push_back(id);
  for (IndexId id : kept) op.kept.extents.push_back(extent_of(id, x));
  for (IndexId id : gone) op.reduced.extents.push_back(extent_of(id, x));
  const Ref to = compiler.create(element, op.kept.extents);
  op.kept.strides.push_back(to.strides);
  std::vector<Ref> inputs;
  for (const View* each : x) {
    inputs.push_back(each->ref);
    op.inputs.push_back(each->ref.element);
    op.kept.strides.push_back(strides_along(kept, op.kept.extents, *each));
    op.reduced.strides.push_back(strides_along(gone, op.reduced.extents, *each));
  }
  op.kept = coalesced(std::move(op.kept));
  op.reduced = coalesced(std::move(op.reduced));
  compiler.kernel("reduce", std::move(op), to, std::move(inputs));
  return {to, kept};
}

namespace {

Reduction fn_of(ir::ReduceFn fn) {
  switch (fn) {
    case ir::ReduceFn::sum:
      return Reduction::sum;
    case ir::ReduceFn::max:
      return Reduction::max;
    case ir::ReduceFn::min:
      return Reduction::min;
  }
  throw std::logic_error("no such reduction");
}

}  // namespace

void compile(const ir::Reduce& op, const Site& site) {
  const Opening opening(site, op.pattern);
  const View x = opening.operand(0);
  opening.define(reduced(site.compiler, fn_of(op.fn), {&x}, opening.right(), site.element()));
}

}  // namespace shardproof::compile
