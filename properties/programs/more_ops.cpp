// Loops, orders, products of three and other dtypes.
#include "properties/programs/op_makers.h"

namespace shardproof::programs {
namespace {

using Sources = std::vector<const Drafted*>;

void only_values(Workshop& shop, Drafted& x) {
  shop.draft.clear(x, 'M');
  shop.draft.clear(x, 'U');
}

}  // namespace

// Two steps of s + b n, from a on: after it a + b, or a/4 + b. What is emitted is s before them.
std::optional<Drafted> loop(Workshop& shop, Drafted a, Drafted b) {
  for (const Piece& each : whole_dims(b.layout))
    if (!a.layout.find(each.dim)) b = sum_over(shop, b, {each.dim});
  shop.draft.agree(a, b, Draft::Mixing::sum, shop.coins);
  const bool halves = shop.coins.one_in(2), emits = shop.coins.one_in(2);
  const auto text = [&](const std::string& type, const Word& from, const Word& added) {
    return "scan n in P, s: " + type + " = " + from + " { next s" + (halves ? " * 0.5" : "") +
           " + " + added + " * f32(n)" + (emits ? "\n        emit s\n    }" : " }");
  };
  Layout layout = a.layout;
  if (emits) layout.dims.insert(layout.dims.begin(), Piece{"P", {}});
  Drafted r = shop.draft.value(text("f32[" + a.layout.whole() + "]", a.model, b.model),
                               text(a.layout.type("f32"), a.plan, b.plan), layout, Sources{&a, &b},
                               emits ? "_s, " : "");
  r.size = a.size + b.size;
  if (halves) r.fraction += 2;
  return emits ? entry(shop, r, a.layout) : r;
}

// x times where its entries stand in order.
std::optional<Drafted> order(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  only_values(shop, a);
  const Word dim = shop.coins.of(a.layout.dims).dim;
  shop.draft.whole(a, dim);
  const auto text = [&](const Word& x, const std::string& at) {
    return x + " * f32(argsort(\"" + at + "; " + dim + "\", " + x + "))";
  };
  Drafted r = shop.draft.value(text(a.model, a.layout.whole()), text(a.plan, a.layout.text()),
                               a.layout, Sources{&a});
  r.size = summed(a.size, dim);
  return r;
}

// The larger or the smaller one of two.
std::optional<Drafted> sorted_pair(Workshop& shop, Drafted a, Drafted b) {
  only_values(shop, a);
  only_values(shop, b);
  const auto both = joined(shop, a, b);
  if (!both) return {};
  Layout layout = both->layout;
  layout.dims[0].dim = "Q";
  const auto text = [&](const Word& x, const std::string& from, const std::string& to) {
    return "top_k(\"" + from + " -> " + to + "\", " + x + ")";
  };
  Drafted r = shop.draft.value(text(both->model, both->layout.whole(), layout.whole()),
                               text(both->plan, both->layout.text(), layout.text()), layout,
                               Sources{&*both}, "", ", _i" + both->model);
  r.size = both->size;
  const Layout one{{layout.dims.begin() + 1, layout.dims.end()}, layout.marks};
  return entry(shop, r, one);
}

// a b a, summed over some dims.
std::optional<Drafted> contract_three(Workshop& shop, Drafted a, Drafted b) {
  shop.draft.clear(a, 'U');
  return contracted(shop, std::move(a), std::move(b), true);
}

// In bf16 for a while, perhaps on other ranks.
std::optional<Drafted> shorten(Workshop& shop, Drafted a, Drafted) {
  Drafted r =
      shop.draft.value("bf16(" + a.model + ")", "bf16(" + a.plan + ")", a.layout, Sources{&a});
  r.size = a.size;
  if (shop.coins.one_in(2)) wander(shop, r);
  Drafted back =
      shop.draft.value("f32(" + r.model + ")", "f32(" + r.plan + ")", r.layout, Sources{&r});
  back.size = r.size;
  return back;
}

}  // namespace shardproof::programs
