// Sums of products, two tensors at a time; as matrix products if there is a summed index.
#include <algorithm>

#include "impl/compile/grouped.h"
#include "impl/compile/ops.h"

namespace shardproof::compile {

namespace {

Roles roles_of(const Ids& a, const Ids& b, const Ids& kept) {
  Roles roles;
  for (IndexId id : kept)
    (has(a, id) ? has(b, id) ? roles.batch : roles.rows : roles.columns).push_back(id);
  for (IndexId id : a)
    if (!has(kept, id) && !has(roles.summed, id)) roles.summed.push_back(id);
  return roles;
}

std::optional<JoinedDims> joined(const View& x, const Ids& some) {
  const std::vector<int64_t> extents = x.extents(some);
  return compile::joined(extents, strides_along(some, extents, x));
}

/// The operand as matrices of `rows` and `columns`; packed if its strides do not allow that.
struct Matrices {
  View operand;
  JoinedDims rows, columns;
};

/// Whether one of the two is contiguous, and no entry repeats.
bool is_matrix(const JoinedDims& rows, const JoinedDims& columns) {
  auto repeats = [](const JoinedDims& x) { return x.extent > 1 && x.stride == 0; };
  auto neighbours = [](const JoinedDims& x) { return x.extent == 1 || x.stride == 1; };
  return (neighbours(rows) || neighbours(columns)) && !repeats(rows) && !repeats(columns);
}

/// The number of entries of x that must be copied to make it a matrix.
int64_t copied(const View& x, const Ids& rows, const Ids& columns) {
  const auto r = joined(x, rows), c = joined(x, columns);
  return r && c && is_matrix(*r, *c) ? 0 : x.ref.count();
}

/// The operands of a product; c is not allocated yet.
struct Product {
  View a, b, c;

  int64_t copied(const Roles& roles) const {
    return compile::copied(a, roles.rows, roles.summed) +
           compile::copied(b, roles.summed, roles.columns) +
           compile::copied(c, roles.rows, roles.columns);
  }
};

/// `some` in the order of x's memory, largest stride first.
Ids in_memory_order(const View& x, Ids some) {
  const auto stride = [&](IndexId id) { return x.ref.strides.at(position_of(x.ids, id)); };
  std::stable_sort(some.begin(), some.end(),
                   [&](IndexId a, IndexId b) { return stride(a) > stride(b); });
  return some;
}

/// Equivalent products: a short index of only rows or only columns may become a batch index if the
/// others then have one stride.
std::vector<Roles> batched(const Roles& roles, const Product& product) {
  constexpr int64_t most_at_once = 4;
  std::vector<Roles> result{roles};
  for (Ids Roles::*kept : {&Roles::rows, &Roles::columns})
    for (IndexId id : roles.*kept) {
      const int64_t extent = product.c.extents({id})[0];
      if (extent == 1 || extent > most_at_once || (roles.*kept).size() == 1) continue;
      result.push_back(roles);
      std::erase(result.back().*kept, id);
      result.back().batch.push_back(id);
    }
  return result;
}

/// The order and batch that need the fewest copies; unchanged if nothing is
/// copied. The order of summed indices stays, so sums have the same bits for every
/// layout.
Roles cheapest(const Roles& roles, const Product& product) {
  Roles best = roles;
  int64_t least = product.copied(roles);
  if (least == 0) return best;
  for (const Roles& each : batched(roles, product))
    for (const Ids& rows : {each.rows, in_memory_order(product.a, each.rows)})
      for (const Ids& columns : {each.columns, in_memory_order(product.b, each.columns)}) {
        const Roles form{each.batch, rows, columns, each.summed};
        const int64_t copied = product.copied(form);
        if (copied < least) best = form, least = copied;
      }
  return best;
}

/// The batch, then rows and columns or the reverse: the contiguous one of x last, so that a copy
/// does not transpose.
Ids packed_order(const View& x, const Ids& batch, const Ids& rows, const Ids& columns) {
  Ids own;
  for (IndexId id : batch)
    if (has(x.ids, id)) own.push_back(id);
  const Ids all = in_memory_order(x, concatenated(rows, columns));
  const bool turned = !all.empty() && has(rows, all.back());
  return concatenated(own, turned ? concatenated(columns, rows) : concatenated(rows, columns));
}

Matrices matrices_of(Compiler& compiler, const View& operand, const Ids& batch, const Ids& rows,
                     const Ids& columns, Element element) {
  const auto r = joined(operand, rows), c = joined(operand, columns);
  if (operand.ref.element == element && r && c && is_matrix(*r, *c)) return {operand, *r, *c};
  const Ids order = packed_order(operand, batch, rows, columns);
  const Ref view = along(operand, order, operand.extents(order));
  const Ref copy = compiler.create(element, view.extents);
  compiler.move("pack", view, copy);
  const View packed{copy, order};
  return {packed, *joined(packed, rows), *joined(packed, columns)};
}

MatrixStrides strides_of(const Matrices& x) { return {x.rows.stride, x.columns.stride}; }

View multiplied(Compiler& compiler, const View& a, const View& b, const Roles& given,
                const Ids& kept, Element element) {
  // Without conversion if the device has such products; else all three as f64 or f32.
  const bool own = compiler.device().multiplies(element, a.ref.element, b.ref.element);
  const Element wide = element == Element::f64 ? Element::f64 : Element::f32;
  const Element inner = own ? element : wide;
  View wanted{{}, kept};
  for (IndexId id : kept) wanted.ref.extents.push_back(extent_of(id, {&a, &b}));
  wanted.ref.strides = row_major(wanted.ref.extents);
  View to = wanted;
  const Roles roles = own ? cheapest(given, {a, b, to}) : given;
  const Matrices left =
      matrices_of(compiler, a, roles.batch, roles.rows, roles.summed, own ? a.ref.element : wide);
  const Matrices right = matrices_of(compiler, b, roles.batch, roles.summed, roles.columns,
                                     own ? b.ref.element : wide);
  // Directly into the result if its layout is that of matrices; else through a copy.
  const bool direct = element == inner && copied(to, roles.rows, roles.columns) == 0;
  if (!direct) to.ids = packed_order(to, roles.batch, roles.rows, roles.columns);
  to.ref = compiler.create(inner, wanted.extents(to.ids));
  const Matrices result{to, *joined(to, roles.rows), *joined(to, roles.columns)};

  Matmul op;
  op.elements = {inner, left.operand.ref.element, right.operand.ref.element};
  op.m = result.rows.extent;
  op.n = result.columns.extent;
  op.k = left.columns.extent;
  if (op.k != right.rows.extent)
    throw PlanError(compiler.place() + ": " + std::to_string(op.k) + " entries are summed with " +
                    std::to_string(right.rows.extent));
  op.a = strides_of(left);
  op.b = strides_of(right);
  op.c = strides_of(result);
  op.batch.extents = to.extents(roles.batch);
  for (const View* each : std::initializer_list<const View*>{&to, &left.operand, &right.operand})
    op.batch.strides.push_back(strides_along(roles.batch, op.batch.extents, *each));
  op.batch = coalesced(std::move(op.batch));
  compiler.kernel("einsum", std::move(op), to.ref, {left.operand.ref, right.operand.ref});
  if (direct) return to;
  const Ref back = compiler.create(element, wanted.ref.extents);
  compiler.move("pack", along(to, kept, wanted.ref.extents), back);
  return {back, kept};
}

/// First sums the indices that only this operand has.
View without_own(Compiler& compiler, const View& x, const Ids& others, const Ids& kept) {
  Ids rest;
  for (IndexId id : x.ids)
    if (has(others, id) || has(kept, id)) rest.push_back(id);
  if (rest == x.ids) return x;
  const Element element = x.ref.element == Element::bf16 ? Element::f32 : x.ref.element;
  return reduced(compiler, Reduction::sum, {&x}, rest, element);
}

/// The product of two views along `kept`, summed over their other indices.
View contract(Compiler& compiler, const View& a, const View& b, const Ids& kept, Element element) {
  const View x = without_own(compiler, a, b.ids, kept);
  const View y = without_own(compiler, b, x.ids, kept);
  const Roles roles = roles_of(x.ids, y.ids, kept);
  int64_t matrix = 1;
  for (IndexId id : concatenated(roles.rows, roles.columns)) matrix *= extent_of(id, {&x, &y});
  if (!is_real(element) || matrix == 1)
    return reduced(compiler, Reduction::sum, {&x, &y}, kept, element);
  if (const auto grouped = grouped_product(compiler, x, y, roles, kept, element)) return *grouped;
  return multiplied(compiler, x, y, roles, kept, element);
}

/// An elementwise product: a chain along the result's positions, where both factors exist.
void multiply(const Opening& opening, const View& a, const View& b) {
  const Site& site = opening.site;
  const auto product = [&](const View& x, const View& y) {
    return apply_to(PointwiseFn::mul, true, site.element(), {leaf_of(x), leaf_of(y)});
  };
  const auto x = opening.as_result(a), y = opening.as_result(b);
  if (x && y) return site.define(product(*x, *y));
  const Ids right = opening.right();
  const auto numbered = [&](View view) {
    for (IndexId& id : view.ids) id = position_of(right, id);
    return view;
  };
  opening.define({site.compiler.compute(product(numbered(a), numbered(b)), site.element(),
                                        opening.extents(right)),
                  right});
}

}  // namespace

void compile(const ir::Einsum& op, const Site& site) {
  const Opening opening(site, op.pattern);
  const std::vector<Positions>& left = op.pattern.indices.left;
  const Ids right = opening.right();
  View product = opening.operand(0);
  if (left.size() == 1)
    return opening.define(
        reduced(site.compiler, Reduction::sum, {&product}, right, site.element()));
  const Element between = site.element() == Element::bf16 ? Element::f32 : site.element();
  for (size_t i = 1; i < left.size(); ++i) {
    const View next = opening.operand(i);
    const bool last = i + 1 == left.size();
    // Keeps the indices that later operands or the result have.
    Ids needed = right, kept;
    for (size_t j = i + 1; j < left.size(); ++j) needed = concatenated(needed, flat(left[j]));
    bool summed = false;
    for (IndexId id : concatenated(product.ids, next.ids)) {
      summed = summed || !has(needed, id);
      if (has(needed, id) && !has(kept, id)) kept.push_back(id);
    }
    if (last && !summed && is_real(site.element())) return multiply(opening, product, next);
    product = contract(site.compiler, product, next, last ? right : kept,
                       last ? site.element() : between);
  }
  opening.define(product);
}

}  // namespace shardproof::compile
