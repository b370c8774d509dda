// Completeness, measured: random true rewritings of random programs, and the share that is shown
// equal.
#include <gtest/gtest.h>

#include "spec/algebra/generator.h"

namespace shardproof::algebra {
namespace {

E make(Expr e) { return std::make_shared<const Expr>(std::move(e)); }
E node(Expr::Kind kind, std::vector<E> kids, Rational value = 0) {
  Expr e{};
  e.kind = kind, e.kids = std::move(kids), e.value = value;
  return make(e);
}
E fn(Fn f, E x) {
  Expr e{};
  e.kind = Expr::fn, e.function = f, e.kids = {x};
  return make(e);
}

/// x (y + z) = x y + x z, exp(x + y) = exp x exp y, sigmoid and tanh by exp, squares, commuting
/// operands.
E rewritten(const E& e, laws::Dice& random) {
  Expr copy = *e;
  for (E& kid : copy.kids) kid = rewritten(kid, random);
  if (random() % 2 == 0) return make(copy);
  auto& k = copy.kids;
  switch (copy.kind) {
    case Expr::add:
      return node(Expr::add, {k[1], k[0]});
    case Expr::maximum:
      return node(Expr::maximum, {k[1], k[0]});
    case Expr::mul:
      if (k[1]->kind != Expr::add) return node(Expr::mul, {k[1], k[0]});
      return node(Expr::add,
                  {node(Expr::mul, {k[0], k[1]->kids[0]}), node(Expr::mul, {k[0], k[1]->kids[1]})});
    case Expr::pow:
      if (copy.value == Rational(2)) return node(Expr::mul, {k[0], k[0]});
      return make(copy);
    case Expr::fn:
      break;
    default:
      return make(copy);
  }
  E minus = node(Expr::number, {}, -1), one = node(Expr::number, {}, 1);
  switch (copy.function) {
    case Fn::exp:
      if (k[0]->kind != Expr::add) return make(copy);
      return node(Expr::mul, {fn(Fn::exp, k[0]->kids[0]), fn(Fn::exp, k[0]->kids[1])});
    case Fn::sigmoid:
      return node(Expr::pow, {node(Expr::add, {one, fn(Fn::exp, node(Expr::mul, {minus, k[0]}))})},
                  -1);
    case Fn::silu:
      return node(Expr::mul, {fn(Fn::sigmoid, k[0]), k[0]});
    case Fn::relu:
      return node(Expr::mul, {fn(Fn::step, k[0]), k[0]});
    case Fn::abs:
      return fn(Fn::abs, node(Expr::mul, {minus, k[0]}));
    case Fn::tanh: {
      E s = fn(Fn::sigmoid, node(Expr::mul, {node(Expr::number, {}, 2), k[0]}));
      return node(Expr::add, {node(Expr::mul, {node(Expr::number, {}, 2), s}), minus});
    }
    default:
      return make(copy);
  }
}

bool shown(const E& one, const E& two, size_t variables, int limit, std::string* text) {
  Algebra a(Budget{limit, 2000000, 2000000});
  a.declare_range(size_nf(a, "D/2"));
  Lower lower{a, std::vector<Nf>(variables)};
  lower.env[0] = a.var(a.fresh(a.size("K"), "k")),
  lower.env[1] = a.var(a.fresh(size_nf(a, "V/t"), "j"));
  Nf x = lower(one), y = lower(two);
  if (compare(a, x, y) == Comparison::equal) return true;
  *text = a.show(x) + "\n   and\n" + a.show(y);
  return false;
}

TEST(Rewriting, MostTrueRewritingsAreShown) {
  int first = 0, later = 0, open = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const auto [one, variables] =
        drawn(laws::Dice(seed), static_cast<Recipe>(seed % static_cast<uint32_t>(Recipe::count)));
    laws::Dice random(seed);
    E two = rewritten(one, random);
    std::string text;
    if (shown(one, two, variables, 1, &text))
      ++first;
    else if (shown(one, two, variables, 24, &text))
      ++later;
    else {
      ++open;
      if (std::getenv("SHARDPROOF_SHOW_MISSED") != nullptr)
        std::printf("seed %u\n%s\n", seed, text.c_str());
    }
  }
  RecordProperty("limit_1", first);
  RecordProperty("limit_24", later);
  RecordProperty("missed", open);
  EXPECT_LT(open, 75) << "more than one in twenty was missed";
}

}  // namespace
}  // namespace shardproof::algebra
