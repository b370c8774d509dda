// Sums of products of two tensors at a time, as matrix products where there is something to sum.
#include <algorithm>

#include "impl/compile/ops.h"

namespace shardproof::compile {

namespace {

/// The dims of a product by their part in it: kept ones are in the result.
struct Roles {
  Labels batch, rows, columns, summed;  ///< of both; kept of a; kept of b; of both, not kept
};

Roles roles_of(const Labels& a, const Labels& b, const Labels& kept) {
  Roles roles;
  for (const Dim& label : kept)
    (has(a, label) ? has(b, label) ? roles.batch : roles.rows : roles.columns).push_back(label);
  for (const Dim& label : a)
    if (!has(kept, label) && !has(roles.summed, label)) roles.summed.push_back(label);
  return roles;
}

struct Operand {
  Ref ref;
  Labels labels;
  std::vector<int64_t> extents(const Labels& some) const {
    std::vector<int64_t> result;
    for (const Dim& label : some) result.push_back(ref.extents.at(position_of(labels, label)));
    return result;
  }
  std::optional<JoinedDims> joined(const Labels& some) const {
    return compile::joined(extents(some), strides_along(some, extents(some), labels, ref));
  }
};

/// The operand as matrices of `rows` and `columns`, packed where its memory is not.
struct Matrices {
  Operand operand;
  JoinedDims rows, columns;
};

Labels concatenated(const Labels& a, const Labels& b) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// Neighbours in memory along one of the two, and no entry repeated.
bool is_matrix(const JoinedDims& rows, const JoinedDims& columns) {
  auto repeats = [](const JoinedDims& x) { return x.extent > 1 && x.stride == 0; };
  auto neighbours = [](const JoinedDims& x) { return x.extent == 1 || x.stride == 1; };
  return (neighbours(rows) || neighbours(columns)) && !repeats(rows) && !repeats(columns);
}

/// What of x would have to be copied for it to be matrices.
int64_t copied(const Operand& x, const Labels& rows, const Labels& columns) {
  const auto r = x.joined(rows), c = x.joined(columns);
  return r && c && is_matrix(*r, *c) ? 0 : x.ref.count();
}

/// The operands of a product: c is not made yet.
struct Product {
  Operand a, b, c;

  int64_t copied(const Roles& roles) const {
    return compile::copied(a, roles.rows, roles.summed) +
           compile::copied(b, roles.summed, roles.columns) +
           compile::copied(c, roles.rows, roles.columns);
  }
};

/// `some` as they lie in x's memory, the farthest first.
Labels in_memory_order(const Operand& x, Labels some) {
  const auto stride = [&](const Dim& label) {
    return x.ref.strides.at(position_of(x.labels, label));
  };
  std::stable_sort(some.begin(), some.end(),
                   [&](const Dim& a, const Dim& b) { return stride(a) > stride(b); });
  return some;
}

/// The same product, a few at a time: a short label of the rows or columns alone may be walked by
/// the batch, where the others then have one stride.
std::vector<Roles> batched(const Roles& roles, const Product& product) {
  constexpr int64_t most_at_once = 4;
  std::vector<Roles> result{roles};
  for (Labels Roles::*kept : {&Roles::rows, &Roles::columns})
    for (const Dim& label : roles.*kept) {
      const int64_t extent = product.c.extents({label})[0];
      if (extent == 1 || extent > most_at_once || (roles.*kept).size() == 1) continue;
      result.push_back(roles);
      std::erase(result.back().*kept, label);
      result.back().batch.push_back(label);
    }
  return result;
}

/// The roles in the order, and with the batch, for which the least is copied; as they are if
/// nothing is. What is summed keeps its order, so that sums have the same bits wherever operands
/// lie.
Roles cheapest(const Roles& roles, const Product& product) {
  Roles best = roles;
  int64_t least = product.copied(roles);
  for (const Roles& each : batched(roles, product))
    for (const Labels& rows : {each.rows, in_memory_order(product.a, each.rows)})
      for (const Labels& columns : {each.columns, in_memory_order(product.b, each.columns)}) {
        const Roles form{each.batch, rows, columns, each.summed};
        const int64_t copied = product.copied(form);
        if (copied < least) best = form, least = copied;
      }
  return best;
}

/// The batch, then rows and columns, or columns and rows: who has x's neighbours in memory comes
/// last, so that a copy does not turn matrices over.
Labels packed_order(const Operand& x, const Labels& batch, const Labels& rows,
                    const Labels& columns) {
  Labels own;
  for (const Dim& label : batch)
    if (has(x.labels, label)) own.push_back(label);
  const Labels all = in_memory_order(x, concatenated(rows, columns));
  const bool turned = !all.empty() && has(rows, all.back());
  return concatenated(own, turned ? concatenated(columns, rows) : concatenated(rows, columns));
}

Matrices matrices_of(Compiler& compiler, const Operand& operand, const Labels& batch,
                     const Labels& rows, const Labels& columns, Element element) {
  const auto r = operand.joined(rows), c = operand.joined(columns);
  if (operand.ref.element == element && r && c && is_matrix(*r, *c)) return {operand, *r, *c};
  const Labels order = packed_order(operand, batch, rows, columns);
  const Ref view = relabelled(operand.ref, operand.labels, order, operand.extents(order));
  const Ref copy = compiler.create(element, view.extents);
  compiler.move("pack", view, copy);
  const Operand packed{copy, order};
  return {packed, *packed.joined(rows), *packed.joined(columns)};
}

MatrixStrides strides_of(const Matrices& x) { return {x.rows.stride, x.columns.stride}; }

Ref multiplied(Compiler& compiler, const Operand& a, const Operand& b, const Roles& given,
               const Labels& labels, Element element) {
  // As they are where the device has such products, otherwise all three as f64 or f32.
  const bool own = compiler.device().multiplies(element, a.ref.element, b.ref.element);
  const Element wide = element == Element::f64 ? Element::f64 : Element::f32;
  const Element inner = own ? element : wide;
  Ref wanted;
  for (const Dim& label : labels)
    wanted.extents.push_back(extent_of(label, {a.labels, b.labels}, {a.ref, b.ref}));
  wanted.strides = row_major(wanted.extents);
  Operand to{wanted, labels};
  const Roles roles = own ? cheapest(given, {a, b, to}) : given;
  const Matrices left =
      matrices_of(compiler, a, roles.batch, roles.rows, roles.summed, own ? a.ref.element : wide);
  const Matrices right = matrices_of(compiler, b, roles.batch, roles.summed, roles.columns,
                                     own ? b.ref.element : wide);
  // Into the result's own order where that is one of matrices, otherwise copied there.
  const bool direct = element == inner && copied(to, roles.rows, roles.columns) == 0;
  if (!direct) to.labels = packed_order(to, roles.batch, roles.rows, roles.columns);
  to.ref = compiler.create(inner, Operand{wanted, labels}.extents(to.labels));
  const Matrices result{to, *to.joined(roles.rows), *to.joined(roles.columns)};

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
  for (const Operand* each : std::vector<const Operand*>{&to, &left.operand, &right.operand})
    op.batch.strides.push_back(
        strides_along(roles.batch, to.extents(roles.batch), each->labels, each->ref));
  op.batch = coalesced(op.batch);
  compiler.kernel("einsum", std::move(op), to.ref, {left.operand.ref, right.operand.ref});
  if (direct) return to.ref;
  const Ref back = compiler.create(element, wanted.extents);
  compiler.move("pack", relabelled(to.ref, to.labels, labels, wanted.extents), back);
  return back;
}

/// The operand without the dims that nothing else has: they are summed first.
Operand without_own(Compiler& compiler, const Operand& x, const Labels& others,
                    const Labels& kept) {
  Labels rest;
  for (const Dim& label : x.labels)
    if ((has(others, label) || has(kept, label)) && !has(rest, label)) rest.push_back(label);
  if (rest == x.labels) return x;
  const Element element = x.ref.element == Element::bf16 ? Element::f32 : x.ref.element;
  return {reduced(compiler, Reduction::sum, x.ref, x.labels, rest, element), rest};
}

/// The product of two views along `labels`, summed over the dims that `labels` lacks.
Ref contract(Compiler& compiler, const Ref& a, const Labels& a_labels, const Ref& b,
             const Labels& b_labels, const Labels& labels, Element element) {
  const Operand x = without_own(compiler, {a, a_labels}, b_labels, labels);
  const Operand y = without_own(compiler, {b, b_labels}, x.labels, labels);
  const Roles roles = roles_of(x.labels, y.labels, labels);
  int64_t matrix = 1;
  for (const Labels* each : {&roles.rows, &roles.columns})
    for (const Dim& label : *each) matrix *= extent_of(label, {x.labels, y.labels}, {x.ref, y.ref});
  if (!is_real(element) || matrix == 1)
    return summed_product(compiler, x.ref, x.labels, y.ref, y.labels, labels, element);
  return multiplied(compiler, x, y, roles, labels, element);
}

}  // namespace

void compile(const ir::Einsum& op, const Site& site) {
  std::vector<Labels> own;
  for (const Shape& shape : op.pattern.left) own.push_back(labels_of(shape));
  const Labels right = labels_of(op.pattern.right);
  if (own.size() == 1)
    return site.define(
        reduced(site.compiler, Reduction::sum, site.ref(0), own[0], right, site.element()));

  Ref product = site.ref(0);
  Labels labels = own[0];
  for (size_t i = 1; i < own.size(); ++i) {
    // What later operands or the result have stays.
    const bool last = i + 1 == own.size();
    Labels kept;
    if (last) {
      kept = right;
    } else {
      for (const Labels* each : {&labels, &own[i]})
        for (const Dim& label : *each) {
          bool needed = has(right, label);
          for (size_t j = i + 1; j < own.size(); ++j) needed = needed || has(own[j], label);
          if (needed && !has(kept, label)) kept.push_back(label);
        }
    }
    bool summed = false, diagonal = false;
    for (const Labels* each : {&labels, &own[i]})
      for (size_t j = 0; j < each->size(); ++j) {
        summed = summed || !has(kept, (*each)[j]);
        diagonal = diagonal || position_of(*each, (*each)[j]) != j;
      }
    const Element between = site.element() == Element::bf16 ? Element::f32 : site.element();
    if (last && !summed && !diagonal && is_real(site.element()))
      return site.define(apply_to(PointwiseFn::mul, true, site.element(),
                                  {leaf_of(product, labels), leaf_of(site.ref(i), own[i])}));
    product = contract(site.compiler, product, labels, site.ref(i), own[i], kept,
                       last ? site.element() : between);
    labels = kept;
  }
  site.define(product);
}

}  // namespace shardproof::compile
