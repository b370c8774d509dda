// Ops that pick entries, and the redistribution that nothing asked for.
#include <algorithm>

#include "properties/programs/op_makers.h"

namespace shardproof::programs {
namespace {

using From = std::vector<const Drafted*>;

/// Same dims in the same order: what concat wants.
void align(Workshop& shop, Drafted& a, Drafted& b) {
  shop.draft.agree(a, b, Draft::Mixing::sum, shop.coins);
}

bool alike(const Layout& a, const Layout& b) {
  return Layout{whole_dims(a), {}}.whole() == Layout{whole_dims(b), {}}.whole();
}

/// What the ids say: the dim of `x` and how it lies.
Drafted ids_over(Workshop& shop, const Piece& piece) {
  return shop.draft.param(Layout{{piece}, {}}, "i32");
}

}  // namespace

Drafted entry(Workshop& shop, const Drafted& both, const Layout& layout) {
  const std::string at = shop.coins.one_in(2) ? "0" : "1";
  const auto text = [&](const Word& x, const std::string& dims, const std::string& marks) {
    const std::string space = dims.empty() ? "" : " ";
    return "read(\"[" + both.layout.dims[0].dim + "]" + space + dims + marks + " -> " + dims +
           marks + "\", " + x + ", at=" + at + ")";
  };
  const std::string marks = layout.marks_text().empty() ? "" : " " + layout.marks_text();
  Drafted r = shop.draft.value(text(both.model, layout.whole(), ""),
                               text(both.plan, layout.dims_text(), marks), layout, From{&both});
  r.size = both.size;
  return r;
}

std::optional<Drafted> joined(Workshop& shop, Drafted a, Drafted b) {
  if (!alike(a.layout, b.layout)) b = a, b.plan = a.plan;
  if (b.model == a.model) b = scale(shop, a, a).value();
  align(shop, a, b);
  const auto text = [&](const std::string& dims, const std::string& marks, const Word& x,
                        const Word& y) {
    const std::string each = dims + (dims.empty() || marks.empty() ? "" : " ") + marks;
    const std::string space = each.empty() ? "" : " ";
    return "concat(\"" + each + ", " + each + " -> [P]" + space + each + "\", " + x + ", " + y +
           ")";
  };
  Layout layout = a.layout;
  layout.dims.insert(layout.dims.begin(), Piece{"P", {}});
  Drafted r = shop.draft.value(text(a.layout.whole(), "", a.model, b.model),
                               text(a.layout.dims_text(), a.layout.marks_text(), a.plan, b.plan),
                               layout, From{&a, &b});
  r.size = a.size + b.size;
  return r;
}

std::optional<Drafted> join(Workshop& shop, Drafted a, Drafted b) {
  const auto both = joined(shop, std::move(a), std::move(b));
  const Layout& layout = both->layout;
  return entry(shop, *both, {{layout.dims.begin() + 1, layout.dims.end()}, layout.marks});
}

std::optional<Drafted> look_up(Workshop& shop, Drafted a, Drafted b) {
  const Word dim = fresh_dim(shop, a.layout, b.layout);
  if (a.layout.dims.empty() || dim.empty()) return {};
  shop.draft.clear(a, 'M');
  const Piece indexed = shop.coins.of(a.layout.dims);
  if (shop.coins.one_in(4)) shop.draft.whole(a, indexed.dim);
  const Letters split = a.layout.find(indexed.dim)->axes;
  const Drafted ids = ids_over(shop, {dim, some_free_axes(shop, a.layout)});
  Layout layout{{ids.layout.dims[0]}, a.layout.marks};
  for (const Piece& each : a.layout.dims)
    if (each.dim != indexed.dim) layout.dims.push_back(each);
  for (char axis : split) layout.marks[axis] = 'U';
  const auto text = [&](const std::string& op, const Layout& table, const Layout& at,
                        const Layout& to, const Word& x) {
    return op + "(\"" + table.text(indexed.dim) + ", " + at.text() + " -> " + to.text() + "\", " +
           x + ", " + ids.model + ")";
  };
  const auto bare = [](const Layout& x) { return Layout{whole_dims(x), {}}; };
  Drafted r = shop.draft.value(
      text("index", bare(a.layout), bare(ids.layout), bare(layout), a.model),
      text(split.empty() ? "index" : "index_unreduced", a.layout, ids.layout, layout, a.plan),
      layout, From{&a, &ids});
  r.size = a.size;
  return r;
}

std::optional<Drafted> add_up(Workshop& shop, Drafted a, Drafted) {
  const Word target = fresh_dim(shop, a.layout, a.layout);
  if (a.layout.dims.empty() || target.empty()) return {};
  shop.draft.clear(a, 'M');
  const Piece piece = shop.coins.of(a.layout.dims);
  const Drafted ids = ids_over(shop, piece);
  Layout layout{{{target, some_free_axes(shop, a.layout)}}, a.layout.marks};
  for (const Piece& each : a.layout.dims)
    if (each.dim != piece.dim) layout.dims.push_back(each);
  for (char axis : piece.axes) layout.marks[axis] = 'U';
  const auto text = [&](const Layout& at, const Layout& x, const Layout& to, const Word& name) {
    std::string right = "[" + Layout{{to.dims[0]}, {}}.dims_text() + "]";
    const Layout rest{{to.dims.begin() + 1, to.dims.end()}, to.marks};
    if (!rest.text().empty()) right += " " + rest.text();
    return "index_add(\"" + at.text() + ", " + x.text() + " -> " + right + "\", " + ids.model +
           ", " + name + ")";
  };
  const auto bare = [](const Layout& x) { return Layout{whole_dims(x), {}}; };
  Drafted r = shop.draft.value(text(bare(ids.layout), bare(a.layout), bare(layout), a.model),
                               text(ids.layout, a.layout, layout, a.plan), layout, From{&ids, &a});
  r.size = summed(a.size, piece.dim);
  return r;
}

namespace {

void wander_split(Workshop& shop, Drafted& x, char axis) {
  const Piece piece = *x.layout.holder(axis);
  const bool last = piece.axes.back() == axis;
  const int way = shop.coins.below(5);
  if (way == 4 && piece.axes.front() == axis) return shop.draft.pass_round(x, piece.dim);
  if (!last) return;
  if (way == 3 && !x.layout.has('M')) return shop.draft.pad(x, piece.dim);
  if (way == 2 && x.layout.dims.size() > 1) {
    const Word to = shop.coins.of(x.layout.dims).dim;
    if (to != piece.dim) return shop.draft.move(x, piece.dim, to);
  }
  shop.draft.gather(x, piece.dim, way == 1);
}

}  // namespace

void wander(Workshop& shop, Drafted& x) {
  Draft& draft = shop.draft;
  const char axis = shop.coins.of(draft.mesh());
  const char state = x.layout.state(axis);
  const int way = shop.coins.below(3);
  const bool max = x.layout.has('M');
  if (state == 'S') return wander_split(shop, x, axis);
  if (state == 'M') return draft.reduce(x, axis, way == 1);
  const bool dims = !x.layout.dims.empty();
  const Word dim = dims ? shop.coins.of(x.layout.dims).dim : "";
  if (state == 'U' && (way < 2 || !dims)) return draft.reduce(x, axis, way == 1);
  if (state == 'U') return draft.scatter(x, axis, dim);
  if (way == 2 && dims) return draft.slice(x, dim, axis);
  if (state == 'I' && way == 1) return draft.fan_out(x, axis);
  if (!max) draft.keep_one(x, axis);
}

}  // namespace shardproof::programs
