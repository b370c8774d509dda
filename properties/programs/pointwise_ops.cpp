#include <algorithm>

#include "properties/programs/op_makers.h"

namespace shardproof::programs {
namespace {

using From = std::vector<const Drafted*>;

/// One operand: `head` and `tail` around its name.
Drafted around(Workshop& shop, const Drafted& a, const std::string& head, const std::string& tail) {
  Drafted r = shop.draft.value(head + a.model + tail, head + a.plan + tail, a.layout, From{&a});
  r.size = a.size;
  return r;
}

bool covers(const Layout& a, const Layout& b) {
  return std::all_of(b.dims.begin(), b.dims.end(),
                     [&](const Piece& each) { return a.find(each.dim) != nullptr; });
}

/// Sums one of them over the dims that the other lacks, until one has them all.
void fit(Workshop& shop, Drafted& a, Drafted& b) {
  while (!covers(a.layout, b.layout) && !covers(b.layout, a.layout)) {
    for (const Piece& each : b.layout.dims)
      if (!a.layout.find(each.dim)) {
        b = sum_over(shop, b, {each.dim});
        break;
      }
  }
}

Drafted combined(Workshop& shop, const Drafted& a, const Drafted& b, const std::string& op,
                 Layout layout) {
  Drafted r = shop.draft.value(a.model + op + b.model, a.plan + op + b.plan, std::move(layout),
                               From{&a, &b});
  return r;
}

Layout mixed(const Drafted& a, const Drafted& b) {
  Layout layout = covers(a.layout, b.layout) ? a.layout : b.layout;
  layout.marks.insert(a.layout.marks.begin(), a.layout.marks.end());
  layout.marks.insert(b.layout.marks.begin(), b.layout.marks.end());
  return layout;
}

std::optional<Drafted> added(Workshop& shop, Drafted a, Drafted b, const char* op) {
  fit(shop, a, b);
  shop.draft.agree(a, b, Draft::Mixing::sum, shop.coins);
  Drafted r = combined(shop, a, b, op, mixed(a, b));
  r.size = a.size + b.size;
  return r;
}

}  // namespace

std::optional<Drafted> add(Workshop& shop, Drafted a, Drafted b) {
  return added(shop, std::move(a), std::move(b), " + ");
}

std::optional<Drafted> subtract(Workshop& shop, Drafted a, Drafted b) {
  return added(shop, std::move(a), std::move(b), " - ");
}

std::optional<Drafted> multiply(Workshop& shop, Drafted a, Drafted b) {
  fit(shop, a, b);
  shop.draft.agree(a, b, Draft::Mixing::product, shop.coins);
  Drafted r = combined(shop, a, b, " * ", mixed(a, b));
  set_product(r, a, b);
  return r;
}

std::optional<Drafted> scale(Workshop& shop, Drafted a, Drafted) {
  shop.draft.clear(a, 'M');
  const int which = shop.coins.below(3);
  Drafted r = around(shop, a, which == 2 ? "-" : "", which == 2 ? "" : which ? " * 0.5" : " * 2.0");
  if (which == 0) ++r.size.log2;
  if (which == 1) ++r.fraction;
  return r;
}

std::optional<Drafted> rectify(Workshop& shop, Drafted a, Drafted) {
  shop.draft.clear(a, 'M');
  shop.draft.clear(a, 'U');
  return around(shop, a, shop.coins.one_in(3) ? "abs(" : "relu(", ")");
}

std::optional<Drafted> choose(Workshop& shop, Drafted a, Drafted b) {
  fit(shop, a, b);
  if (!covers(a.layout, b.layout)) std::swap(a, b);
  for (Drafted* each : {&a, &b}) {
    shop.draft.clear(*each, 'M');
    shop.draft.clear(*each, 'U');
  }
  shop.draft.agree(a, b, Draft::Mixing::sum, shop.coins);
  const bool zero = shop.exact && shop.coins.one_in(2);
  const auto text = [&](const Word& x, const Word& y) {
    return "where(" + x + " > " + y + ", " + x + ", " + (zero ? "0" : y) + ")";
  };
  Drafted r =
      shop.draft.value(text(a.model, b.model), text(a.plan, b.plan), mixed(a, b), From{&a, &b});
  r.size = a.size + b.size;
  return r;
}

std::optional<Drafted> squash(Workshop& shop, Drafted a, Drafted) {
  shop.draft.clear(a, 'M');
  shop.draft.clear(a, 'U');
  const bool grows = shop.coins.one_in(3);
  Drafted r = around(shop, a, grows ? "exp(tanh(" : "tanh(", grows ? "))" : ")");
  r.size = {2, {}};
  return r;
}

std::optional<Drafted> number(Workshop& shop, Drafted a, Drafted) {
  if (a.layout.dims.empty()) return {};
  shop.draft.clear(a, 'M');
  const Word dim = shop.coins.of(a.layout.dims).dim;
  const auto text = [&](const Word& x, const Layout& at) {
    return x + " * f32(iota(\"" + at.dims_text() + "; " + dim + "\"))";
  };
  Drafted r = shop.draft.value(text(a.model, {whole_dims(a.layout), {}}), text(a.plan, a.layout),
                               a.layout, From{&a});
  r.size = summed(a.size, dim);
  return r;
}

void set_product(Drafted& r, const Drafted& a, const Drafted& b) {
  r.size = a.size * b.size;
  r.fraction = a.fraction + b.fraction;
}

std::vector<Piece> whole_dims(const Layout& layout) {
  std::vector<Piece> dims = layout.dims;
  for (Piece& each : dims) each.axes.clear();
  return dims;
}

}  // namespace shardproof::programs
