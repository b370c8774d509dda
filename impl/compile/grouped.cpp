#include "impl/compile/grouped.h"

#include <algorithm>

#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

int64_t stride_of(const View& view, IndexId id) {
  const size_t at = position_of(view.ids, id);
  return at < view.ids.size() ? view.ref.strides[at] : 0;
}

std::optional<JoinedDims> single(const View& x, const Ids& some) {
  const std::vector<int64_t> extents = x.extents(some);
  return compile::joined(extents, strides_along(some, extents, x));
}

/// Both dims as one loop each; `packed`: one of them contiguous.
std::optional<MatrixStrides> strides_of(const View& x, const Ids& rows, const Ids& columns,
                                        bool packed = false) {
  const auto r = single(x, rows), c = single(x, columns);
  const auto contiguous = [](const JoinedDims& dim) { return dim.extent == 1 || dim.stride == 1; };
  if (!r || !c || (packed && !contiguous(*r) && !contiguous(*c))) return std::nullopt;
  return MatrixStrides{r->stride, c->stride};
}

int64_t entries_of(const View& x, const Ids& some) {
  int64_t product = 1;
  for (int64_t extent : x.extents(some)) product *= extent;
  return product;
}

Nest along_entries(const Ids& entries, const std::vector<int64_t>& extents,
                   const std::vector<const View*>& operands) {
  Nest nest;
  nest.extents = extents;
  for (const View* each : operands) nest.strides.push_back(strides_along(entries, extents, *each));
  return coalesced(std::move(nest));
}

/// The ids' own indices, and the columns of each matrix; none if the sum runs over ids, or if an
/// index of the batch or of the ids is one of the table.
struct Parts {
  Ids entries, columns;
};
std::optional<Parts> parts_of(const Roles& roles, const Gathers::Sources& from) {
  Parts found;
  for (IndexId id : roles.summed)
    if (stride_of(from.ids, id) != 0) return std::nullopt;
  for (IndexId id : roles.batch) {
    if (stride_of(from.table, id) != 0) return std::nullopt;
    found.entries.push_back(id);
  }
  for (IndexId id : roles.columns) {
    const bool chosen = stride_of(from.ids, id) != 0;
    if (chosen && stride_of(from.table, id) != 0) return std::nullopt;
    (chosen ? found.entries : found.columns).push_back(id);
  }
  return found;
}

std::optional<View> with_table_right(Compiler& compiler, const View& x, const View& w,
                                     const Roles& roles, const Ids& kept, Element element) {
  const auto from = compiler.gathers().of(w);
  if (!from || !compiler.device().multiplies(element, x.ref.element, w.ref.element)) return {};
  const auto parts = parts_of(roles, *from);
  if (!parts) return {};
  const Ids &entries = parts->entries, &columns = parts->columns;
  View to{{}, kept};
  for (IndexId id : kept) to.ref.extents.push_back(extent_of(id, {&x, &w}));
  to.ref.strides = row_major(to.ref.extents);
  const auto a = strides_of(x, roles.rows, roles.summed), c = strides_of(to, roles.rows, columns),
             b = strides_of(from->table, roles.summed, columns, true);
  if (!a || !b || !c) return {};
  GroupedProduct op;
  Matmul& product = op.product;
  product.elements = {element, x.ref.element, w.ref.element};
  product.m = entries_of(x, roles.rows);
  product.n = entries_of(w, columns);
  product.k = entries_of(w, roles.summed);
  product.a = *a;
  product.b = *b;
  product.c = *c;
  product.batch = along_entries(entries, to.extents(entries), {&to, &x, &from->ids});
  op.window = from->window;
  op.ids = from->ids.ref.element;
  if (!compiler.fuses(op)) return {};
  to.ref = compiler.create(element, to.ref.extents);
  compiler.fused("einsum", op, {to.ref}, {x.ref, from->whole_table, from->whole_ids});
  return to;
}

/// Where the sum runs over ids too, as for the input of the experts that one token goes to: the
/// products of each id first, then their sum.
std::optional<View> with_table_of(Compiler& compiler, const View& x, const View& w,
                                  const Roles& roles, const Ids& kept, Element element) {
  const auto from = compiler.gathers().of(w);
  if (!from) return {};
  Roles each = roles;
  each.summed.clear();
  Ids chosen;
  for (IndexId id : roles.summed) (stride_of(from->ids, id) ? chosen : each.summed).push_back(id);
  if (chosen.empty()) return with_table_right(compiler, x, w, roles, kept, element);
  if (each.summed.empty()) return {};
  each.batch = concatenated(each.batch, chosen);
  const Element wide = element == Element::bf16 ? Element::f32 : element;
  const auto made = with_table_right(compiler, x, w, each, concatenated(kept, chosen), wide);
  if (!made) return {};
  return reduced(compiler, Reduction::sum, {&*made}, kept, element);
}

/// An argument of a pending product, with the indices of operand 1.
View factor(const Opening& opening, const Expression& leaf) {
  const std::vector<int64_t> extents = opening.site.placement().extents(opening.site.type(1));
  return opening.operand(1, along(leaf.view, first_ids(extents.size()), extents));
}

bool is_product(const Expression& x) {
  return x.kind == Expression::Kind::apply && x.fn == PointwiseFn::mul && x.real &&
         x.arguments.size() == 2 && x.arguments[0]->kind == Expression::Kind::leaf &&
         x.arguments[1]->kind == Expression::Kind::leaf;
}

/// Which indices of a product of a and b are those of a matrix; the others are those of entries.
std::optional<Roles> matrix_of(const View& a, const View& b, const Ids& ids, const Ids& right) {
  Roles roles{ids, {}, {}, {}};
  for (IndexId id : a.ids) {
    const bool in_a = stride_of(a, id) != 0, in_b = stride_of(b, id) != 0;
    if (has(ids, id)) {
      if (has(right, id)) return std::nullopt;
    } else if (!has(right, id)) {
      roles.batch.push_back(id);
    } else if (in_a && in_b) {
      return std::nullopt;
    } else {
      (in_b ? roles.columns : roles.rows).push_back(id);
    }
  }
  for (IndexId id : ids)
    if (has(right, id)) return std::nullopt;
  return roles;
}

}  // namespace

std::optional<View> grouped_product(Compiler& compiler, const View& a, const View& b,
                                    const Roles& roles, const Ids& kept, Element element) {
  if (auto made = with_table_of(compiler, a, b, roles, kept, element)) return made;
  return with_table_of(compiler, b, a, {roles.batch, roles.columns, roles.rows, roles.summed}, kept,
                       element);
}

bool grouped_sum(const Opening& opening, const IndexWindow& window, const View& sum) {
  const Site& site = opening.site;
  Compiler& compiler = site.compiler;
  const ExpressionPtr x = site.expression(1);
  if (!is_product(*x) || sum.ref.element != Element::f32) return false;
  const View ids = opening.operand(0);
  View a = factor(opening, *x->arguments[0]), b = factor(opening, *x->arguments[1]);
  const auto roles = matrix_of(a, b, ids.ids, sum.ids);
  if (!roles) return false;
  Ids rows = roles->rows, columns = roles->columns;
  auto c = strides_of(sum, rows, columns);
  if (c && c->column != 1 && entries_of(a, columns) != 1) {
    std::swap(a, b);
    std::swap(rows, columns);
    c = strides_of(sum, rows, columns);
  }
  const auto own = strides_of(a, rows, {}), others = strides_of(b, {}, columns);
  if (!c || !own || !others || (c->column != 1 && entries_of(b, columns) != 1)) return false;
  if (!compiler.device().multiplies(Element::f32, a.ref.element, b.ref.element)) return false;
  GroupedSum op;
  op.product.elements = {Element::f32, a.ref.element, b.ref.element};
  op.product.m = entries_of(a, rows);
  op.product.n = entries_of(b, columns);
  op.product.a.row = own->row;
  op.product.b.column = others->column;
  op.product.c = *c;
  std::vector<int64_t> extents;
  for (IndexId id : roles->batch) extents.push_back(extent_of(id, {&ids, &a}));
  op.product.batch = along_entries(roles->batch, extents, {&ids, &a, &b});
  op.window = window;
  op.count = sum.ref.count();
  op.ids = ids.ref.element;
  if (!compiler.fuses(op)) return false;
  compiler.fused("index_add", op, {sum.ref}, {ids.ref, a.ref, b.ref});
  return true;
}

}  // namespace shardproof::compile
