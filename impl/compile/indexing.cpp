#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// What this rank has of the indexed dim; `partial`: ids of other ranks' entries are met.
IndexWindow window_of(const Site& site, const Split& split, int64_t stride, bool partial) {
  return {partial ? site.placement().first(split) : 0, site.placement().extent(split), stride,
          partial};
}

void index(const ir::Pattern& pattern, const Site& site, bool partial) {
  const Labels left = labels_of(pattern.left.at(0)), id_labels = labels_of(pattern.left.at(1)),
               right = labels_of(pattern.right);
  const size_t dim = pattern.left_bracket.value();
  const Ref table = site.ref(0), ids = site.ref(1), to = site.create();
  Labels rest = left;
  rest[dim] = Dim{{"[" + to_string(left[dim]) + "]"}};  // an id's dim may have the same name
  Nest nest;
  nest.extents = to.extents;
  nest.strides = {to.strides, strides_along(right, to.extents, rest, table),
                  strides_along(right, to.extents, id_labels, ids)};
  nest = coalesced(nest);
  const IndexWindow window =
      window_of(site, site.type(0).dims.at(dim), table.strides[dim], partial);
  site.compiler.kernel("index", Index{nest, window, to.element, ids.element}, to, {table, ids});
  site.define(to);
}

}  // namespace

void compile(const ir::Index& op, const Site& site) { index(op.pattern, site, false); }
void compile(const ir::IndexUnreduced& op, const Site& site) { index(op.pattern, site, true); }

// (ids, x): dims of ids and x that the result lacks are added up.
void compile(const ir::IndexAdd& op, const Site& site) {
  const Labels id_labels = labels_of(op.pattern.left.at(0)),
               x_labels = labels_of(op.pattern.left.at(1)), right = labels_of(op.pattern.right);
  const size_t dim = op.pattern.right_bracket.value();
  const Ref ids = site.ref(0), x = site.ref(1);
  const Element element = site.element() == Element::bf16 ? Element::f32 : site.element();
  const Ref sum = site.compiler.create(element, site.extents());
  Labels rest = right, all = id_labels;
  rest[dim] = Dim{{"[" + to_string(right[dim]) + "]"}};
  for (const Dim& label : x_labels)
    if (!has(all, label)) all.push_back(label);
  Nest nest;
  for (const Dim& label : all)
    nest.extents.push_back(extent_of(label, {id_labels, x_labels}, {ids, x}));
  nest.strides = {strides_along(all, nest.extents, rest, sum),
                  strides_along(all, nest.extents, id_labels, ids),
                  strides_along(all, nest.extents, x_labels, x)};
  nest = coalesced(nest);
  const Split& split = site.result_type().dims.at(dim);
  const IndexWindow window =
      window_of(site, split, sum.strides[dim], site.placement().shards(split) > 1);
  site.compiler.kernel("index_add",
                       IndexAdd{nest, window, sum.count(), sum.element, ids.element, x.element},
                       sum, {ids, x});
  site.define(site.compiler.packed(sum, site.element()));
}

}  // namespace shardproof::compile
