// Parts of a dim: views where the place is known or is a loop's index, copies where it is data.
#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

int64_t checked_first(const Site& site, int64_t first, int64_t count, int64_t extent) {
  if (first < 0 || first + count > extent)
    throw PlanError(site.compiler.place() + ": entries " + std::to_string(first) + " to " +
                    std::to_string(first + count - 1) + " of " + std::to_string(extent));
  return first;
}

/// x from entry `at` of dim `dim` on, `count` entries.
Ref part(const Site& site, const Ref& x, size_t dim, const Whole& at, int64_t count) {
  Ref view = x;
  view.extents.at(dim) = count;
  const int64_t extent = x.extents[dim], stride = x.strides[dim];
  if (at.known) {
    view.offset += checked_first(site, *at.known, count, extent) * stride;
    return view;
  }
  if (at.index && site.compiler.most(*at.index) + count <= extent) {
    view.offset += at.index->offset * stride;
    for (const Ref::Term& term : at.index->terms)
      view.terms.push_back({term.loop, term.stride * stride});
    return view;
  }
  const Ref to = site.compiler.create(x.element, view.extents);
  site.compiler.kernel("read",
                       Copy{nest_of({&to, &view}), size_of(to.element),
                            Moving{1, at.ref.element, count, extent, stride}},
                       to, {view, at.ref});
  return to;
}

Ref without_dim(Ref view, size_t dim) {
  view.extents.erase(view.extents.begin() + static_cast<std::ptrdiff_t>(dim));
  view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(dim));
  return view;
}

/// A copy of y into a part of `to`, from entry `at` of dim `dim` on; `given` are y's labels,
/// `order` those of `to` with the part's own label at `dim`.
void paste(const Site& site, const Ref& to, size_t dim, const Whole& at, const Ref& y,
           const Labels& given, const Labels& order) {
  Ref view = to;
  const size_t own = position_of(given, order[dim]);
  const int64_t count = own < given.size() ? y.extents[own] : 1;
  view.extents[dim] = count;
  const Ref from = relabelled(y, given, order, view.extents);
  for (size_t i = 0; i < given.size(); ++i)
    if (const size_t place = position_of(order, given[i]);
        place == order.size() || view.extents[place] != y.extents[i])
      throw PlanError(site.compiler.place() + ": the part does not fit");
  const int64_t extent = to.extents[dim], stride = to.strides[dim];
  Copy copy{nest_of({&view, &from}), size_of(view.element)};
  if (at.known) {
    view.offset += checked_first(site, *at.known, count, extent) * stride;
    return site.compiler.kernel("write", std::move(copy), view, {from});
  }
  copy.moving = Moving{0, at.ref.element, count, extent, stride};
  site.compiler.kernel("write", std::move(copy), view, {from, at.ref});
}

}  // namespace

// (x, at): the bracketed dim gives way to the result's own, or to none.
void compile(const ir::Read& op, const Site& site) {
  Labels left = labels_of(op.pattern.left.at(0));
  const Labels right = labels_of(op.pattern.right);
  const size_t dim = op.pattern.left_bracket.value();
  const Dim taken = extra_label(right, left, left[dim]);
  const size_t place = position_of(right, taken);
  const int64_t count = place < right.size() ? site.extents().at(place) : 1;
  const Ref view = part(site, site.ref(0), dim, site.whole(1), count);
  left[dim] = taken;
  site.define(relabelled(view, left, right, site.extents()));
}

// (x, y, at): x with y from entry `at` on.
void compile(const ir::Write& op, const Site& site) {
  const Labels left = labels_of(op.pattern.left.at(0)), given = labels_of(op.pattern.left.at(1));
  const size_t dim = op.pattern.left_bracket.value();
  const Ref x = site.ref(0), y = site.ref(1);
  const Whole at = site.whole(2);
  const Ref to = site.compiler.create(x.element, x.extents);
  site.compiler.move("write", x, to);
  Labels order = left;
  order[dim] = extra_label(given, left, left[dim]);
  paste(site, to, dim, at, y, given, order);
  site.define(relabelled(to, left, labels_of(op.pattern.right), site.extents()));
}

void compile(const ir::Concat& op, const Site& site) {
  const Labels right = labels_of(op.pattern.right);
  const size_t dim = op.pattern.right_bracket.value();
  const Ref to = site.create();
  int64_t first = 0;
  for (size_t i = 0; i < site.operands(); ++i) {
    const Labels given = labels_of(op.pattern.left.at(i));
    Labels order = right;
    order[dim] = extra_label(given, right, right[dim]);
    const Ref x = site.ref(i);
    paste(site, to, dim, {first, {}}, x, given, order);
    const size_t own = position_of(given, order[dim]);
    first += own < given.size() ? x.extents[own] : 1;
  }
  if (first != to.extents[dim])
    throw PlanError(site.compiler.place() + ": the parts are " + std::to_string(first) +
                    " entries, the result " + std::to_string(to.extents[dim]));
  site.define(to);
}

// (x, by): entry i of the result is entry (i - by) mod n of x.
void compile(const ir::Roll& op, const Site& site) {
  const size_t dim = op.pattern.left_bracket.value();
  const Ref x = site.ref(0);
  const Whole by = site.whole(1);
  const Ref to = site.compiler.create(x.element, x.extents);
  const int64_t n = x.extents[dim];
  if (by.known) {
    auto piece = [&](int64_t from_first, int64_t to_first, int64_t count) {
      Ref from = x, target = to;
      from.extents[dim] = target.extents[dim] = count;
      from.offset += from_first * x.strides[dim];
      target.offset += to_first * to.strides[dim];
      site.compiler.move("roll", from, target);
    };
    const int64_t shift = n == 0 ? 0 : ((*by.known % n) + n) % n;
    piece(n - shift, 0, shift);
    piece(0, shift, n - shift);
  } else {
    site.compiler.kernel(
        "roll", Roll{{x.extents, {to.strides, x.strides}}, dim, size_of(x.element), by.ref.element},
        to, {x, by.ref});
  }
  site.define(relabelled(to, labels_of(op.pattern.left.at(0)), labels_of(op.pattern.right),
                         site.extents()));
}

// (x, n): x[n].
void compile(const ir::Entry& op, const Site& site) {
  const size_t dim = position_of(labels_of(site.type(0)), op.dim);
  site.define(without_dim(part(site, site.ref(0), dim, site.whole(1), 1), dim));
}

}  // namespace shardproof::compile
