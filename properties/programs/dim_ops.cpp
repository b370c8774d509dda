// Ops over dims: sums, maxima, contractions, new and rearranged dims.
#include <algorithm>
#include <set>

#include "properties/programs/op_makers.h"

namespace shardproof::programs {
namespace {

using From = std::vector<const Drafted*>;

/// `op("left -> right", x)` in both bodies.
Drafted unary(Workshop& shop, const std::string& op, const Drafted& a, Layout layout,
              const std::string& more = "") {
  const auto text = [&](const Word& x, const std::string& from, const std::string& to) {
    return op + "(\"" + from + " -> " + to + "\", " + x + more + ")";
  };
  Drafted r = shop.draft.value(text(a.model, a.layout.whole(), layout.whole()),
                               text(a.plan, a.layout.text(), layout.text()), layout, From{&a});
  r.size = a.size;
  return r;
}

/// Drops the dims; their axes become the mark.
Layout without(const Layout& a, const std::vector<Word>& dims, char mark) {
  Layout layout{{}, a.marks};
  for (const Piece& each : a.dims) {
    if (!std::count(dims.begin(), dims.end(), each.dim))
      layout.dims.push_back(each);
    else
      for (char axis : each.axes) layout.marks[axis] = mark;
  }
  return layout;
}

std::vector<Word> some_dims(Workshop& shop, const Layout& a) {
  std::vector<Word> dims;
  for (const Piece& each : a.dims)
    if (shop.coins.one_in(2)) dims.push_back(each.dim);
  if (dims.empty()) dims.push_back(shop.coins.of(a.dims).dim);
  return dims;
}

std::optional<Drafted> sum(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  return sum_over(shop, a, some_dims(shop, a.layout));
}

std::optional<Drafted> largest(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  shop.draft.clear(a, 'M');
  shop.draft.clear(a, 'U');
  const std::vector<Word> dims = some_dims(shop, a.layout);
  if (shop.coins.one_in(4))
    for (const Word& dim : dims) shop.draft.whole(a, dim);
  return unary(shop, "max", a, without(a.layout, dims, 'M'));
}

std::optional<Drafted> widen(Workshop& shop, Drafted a, Drafted b) {
  const Word dim = fresh_dim(shop, a.layout, b.layout);
  if (dim.empty() || a.layout.dims.size() > 3) return {};
  shop.draft.clear(a, 'M');
  Layout layout = a.layout;
  const auto at = layout.dims.begin() + shop.coins.below(static_cast<int>(layout.dims.size()) + 1);
  const Letters axes = some_free_axes(shop, a.layout);
  layout.dims.insert(at, {dim, axes});
  return unary(shop, "expand", a, layout);
}

void shuffle(Workshop& shop, std::vector<Piece>& dims) {
  for (size_t i = dims.size(); i > 1; --i)
    std::swap(dims[i - 1], dims[static_cast<size_t>(shop.coins.below(static_cast<int>(i)))]);
}

/// `(A B)` and back.
Drafted grouped(Workshop& shop, Drafted a) {
  shop.draft.whole(a, a.layout.dims[1].dim);
  Layout layout = a.layout;
  layout.dims[0].dim = "(" + layout.dims[0].dim + " " + layout.dims[1].dim + ")";
  layout.dims.erase(layout.dims.begin() + 1);
  const Layout before = a.layout;
  return unary(shop, "rearrange", unary(shop, "rearrange", a, layout), before);
}

std::optional<Drafted> rearrange(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.size() < 2) return widen(shop, a, a);
  shop.draft.clear(a, 'M');
  if (shop.coins.one_in(3)) return grouped(shop, a);
  Layout layout = a.layout;
  shuffle(shop, layout.dims);
  if (layout.dims == a.layout.dims) std::swap(layout.dims[0], layout.dims[1]);
  return unary(shop, "rearrange", a, layout);
}

std::optional<Drafted> rotate(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  shop.draft.clear(a, 'M');
  const Word dim = shop.coins.of(a.layout.dims).dim;
  shop.draft.whole(a, dim);
  const std::string by = shop.coins.one_in(2) ? "-1" : "1";
  const auto text = [&](const Word& x, const Layout& at) {
    return "roll(\"" + at.text(dim) + "\", " + x + ", by=" + by + ")";
  };
  Drafted r = shop.draft.value(text(a.model, {whole_dims(a.layout), {}}), text(a.plan, a.layout),
                               a.layout, From{&a});
  r.size = a.size;
  return r;
}

std::optional<Drafted> mirror(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  shop.draft.clear(a, 'M');
  const Word dim = shop.coins.of(a.layout.dims).dim;
  shop.draft.whole(a, dim);
  const auto text = [&](const Word& x, const Layout& at) {
    return "rev(\"" + at.text(dim) + "\", " + x + ")";
  };
  Drafted r = shop.draft.value(text(a.model, {whole_dims(a.layout), {}}), text(a.plan, a.layout),
                               a.layout, From{&a});
  r.size = a.size;
  return r;
}

std::optional<Drafted> run_up(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  shop.draft.clear(a, 'M');
  shop.draft.clear(a, 'U');
  const Word dim = shop.coins.of(a.layout.dims).dim;
  shop.draft.whole(a, dim);
  const auto text = [&](const Word& x, const std::string& at) {
    return "cumsum(\"" + at + "; " + dim + "\", " + x + ")";
  };
  Drafted r = shop.draft.value(text(a.model, a.layout.whole()), text(a.plan, a.layout.text()),
                               a.layout, From{&a});
  r.size = summed(a.size, dim);
  return r;
}

/// The labels of the result: those not contracted, in some order.
Layout kept_of(Workshop& shop, const Drafted& a, const Drafted& b, std::set<Word>& gone) {
  std::vector<Piece> all = a.layout.dims;
  for (const Piece& each : b.layout.dims)
    if (!a.layout.find(each.dim)) all.push_back(each);
  shuffle(shop, all);
  Layout layout{{}, a.layout.marks};
  layout.marks.insert(b.layout.marks.begin(), b.layout.marks.end());
  size_t left = all.size();
  for (const Piece& each : all) {
    const bool shared = a.layout.find(each.dim) && b.layout.find(each.dim);
    if (left > 4 || shop.coins.one_in(shared ? 2 : 4)) {
      --left;
      gone.insert(each.dim);
      for (char axis : each.axes) layout.marks[axis] = 'U';
    } else {
      layout.dims.push_back(each);
    }
  }
  return layout;
}

std::optional<Drafted> contract(Workshop& shop, Drafted a, Drafted b) {
  return contracted(shop, std::move(a), std::move(b), false);
}

}  // namespace

Drafted contracted(Workshop& shop, Drafted a, Drafted b, bool twice) {
  shop.draft.agree(a, b, Draft::Mixing::product, shop.coins);
  std::set<Word> gone;
  const Layout layout = kept_of(shop, a, b, gone);
  const auto text = [&](const std::string& left, const std::string& right, const std::string& to,
                        const Word& x, const Word& y) {
    return "einsum(\"" + left + ", " + right + (twice ? ", " + left : "") + " -> " + to + "\", " +
           x + ", " + y + (twice ? ", " + x : "") + ")";
  };
  Drafted r = shop.draft.value(
      text(a.layout.whole(), b.layout.whole(), layout.whole(), a.model, b.model),
      text(a.layout.text(), b.layout.text(), layout.text(), a.plan, b.plan), layout, From{&a, &b});
  set_product(r, a, b);
  if (twice) set_product(r, Drafted(r), a);
  for (const Word& dim : gone) r.size = summed(r.size, dim);
  return r;
}

Drafted sum_over(Workshop& shop, Drafted a, const std::vector<Word>& dims) {
  shop.draft.clear(a, 'M');
  Drafted r = unary(shop, "sum", a, without(a.layout, dims, 'U'));
  for (const Word& dim : dims) {
    r.size = summed(r.size, dim);
  }
  return r;
}

Letters some_free_axes(Workshop& shop, const Layout& x) {
  Letters axes;
  for (char axis : shop.draft.mesh())
    if (x.state(axis) == 'R' && shop.coins.one_in(3))
      axes.insert(axes.begin() + shop.coins.below(static_cast<int>(axes.size()) + 1), axis);
  return axes;
}

Word fresh_dim(Workshop& shop, const Layout& a, const Layout& b) {
  std::vector<Word> left;
  for (const Word& dim : dim_pool())
    if (!a.find(dim) && (shop.coins.one_in(2) || !b.find(dim))) left.push_back(dim);
  return left.empty() ? "" : shop.coins.of(left);
}

const std::vector<Word>& dim_pool() {
  static const std::vector<Word> pool{"A", "B", "C", "D", "E"};
  return pool;
}

const std::vector<OpKind>& op_kinds() {
  static const std::vector<OpKind> kinds{
      {"einsum", contract},
      {"add", add},
      {"mul", multiply},
      {"sum", sum},
      {"einsum", contract},
      {"sub", subtract},
      {"scale", scale},
      {"relu", rectify},
      {"tanh", squash, OpKind::in_reals},
      {"max", largest},
      {"where", choose},
      {"expand", widen},
      {"rearrange", rearrange},
      {"concat", join},
      {"tanh", squash, OpKind::in_reals},
      {"index", look_up},
      {"rearrange", rearrange},
      {"index", look_up},
      {"index_add", add_up},
      {"roll", rotate},
      {"rev", mirror},
      {"cumsum", run_up},
      {"iota", number},
      {"scan", loop},
      {"bf16", shorten},
      {"einsum", contract_three},
      {"top_k", sorted_pair},
      {"argsort", order, OpKind::in_exact},
  };
  return kinds;
}

}  // namespace shardproof::programs
