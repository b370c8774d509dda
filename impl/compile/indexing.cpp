#include "impl/compile/grouped.h"
#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// This rank's part of the indexed dim. `partial`: ids of other ranks' entries may occur.
IndexWindow window_of(const Site& site, const Split& split, int64_t stride, bool partial) {
  return {partial ? site.placement().first(split) : 0, site.placement().extent(split), stride,
          partial};
}

void index(const ir::Pattern& pattern, const Site& site, bool partial) {
  const Opening opening(site, pattern);
  const View table = opening.operand(0), ids = opening.operand(1);
  const Ids right = opening.right();
  const size_t dim = pattern.left_bracket.value();
  Nest nest;
  nest.extents = opening.extents(right);
  const Ref to = site.compiler.create(table.ref.element, nest.extents);
  nest.strides = {to.strides, strides_along(right, nest.extents, table),
                  strides_along(right, nest.extents, ids)};
  const IndexWindow window =
      window_of(site, site.type(0).dims.at(dim), site.ref(0).strides.at(dim), partial);
  Gathered made{to, table.ref, ids.ref, nest.strides[1], nest.strides[2], window};
  site.compiler.kernel("index",
                       Index{coalesced(std::move(nest)), window, to.element, ids.ref.element}, to,
                       {table.ref, ids.ref});
  site.compiler.gathers().add(std::move(made));
  opening.define({to, right});
}

/// Adds entry by entry.
void add_each(const Opening& opening, const IndexWindow& window, const View& sum) {
  const View ids = opening.operand(0), x = opening.operand(1);
  Ids all = ids.ids;
  for (IndexId id : x.ids)
    if (!has(all, id)) all.push_back(id);
  Nest nest;
  nest.extents = opening.extents(all);
  for (const View* each : {&sum, &ids, &x})
    nest.strides.push_back(strides_along(all, nest.extents, *each));
  nest = coalesced(std::move(nest));
  opening.site.compiler.kernel(
      "index_add",
      IndexAdd{nest, window, sum.ref.count(), sum.ref.element, ids.ref.element, x.ref.element},
      sum.ref, {ids.ref, x.ref});
}

}  // namespace

void compile(const ir::Index& op, const Site& site) { index(op.pattern, site, false); }
void compile(const ir::IndexUnreduced& op, const Site& site) { index(op.pattern, site, true); }

// (ids, x): sums over indices of ids and x that the result lacks.
void compile(const ir::IndexAdd& op, const Site& site) {
  const Opening opening(site, op.pattern);
  const Ids right = opening.right();
  const size_t dim = op.pattern.right_bracket.value();
  const Element element = site.element() == Element::bf16 ? Element::f32 : site.element();
  const View sum{site.compiler.create(element, opening.extents(right)), right};
  const Split& split = site.result_type().dims.at(dim);
  const IndexWindow window = window_of(site, split, opening.as_result(sum)->ref.strides.at(dim),
                                       site.placement().shards(split) > 1);
  if (!grouped_sum(opening, window, sum)) add_each(opening, window, sum);
  opening.define({site.compiler.packed(sum.ref, site.element()), right});
}

}  // namespace shardproof::compile
