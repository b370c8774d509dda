// Law: whatever compare() calls equal has equal values, for a program and a perturbed copy of it.
#include <gtest/gtest.h>

#include "spec/algebra/drawn.h"

namespace shardproof::algebra {
namespace {

/// A copy with one node changed: a number, an exponent, a function, an index, an operand or a
/// rewriting of a product.
class Mutation {
 public:
  explicit Mutation(laws::Dice dice) : random_(std::move(dice)) {}
  E operator()(const E& e) {
    Expr copy = *e;
    if (!copy.kids.empty() && random_() % 4 != 0) {
      size_t i = random_() % copy.kids.size();
      copy.kids[i] = (*this)(copy.kids[i]);
      return std::make_shared<const Expr>(copy);
    }
    return changed(copy);
  }

 private:
  E make(Expr e) { return std::make_shared<const Expr>(std::move(e)); }
  E distributed(const Expr& e) {  // x (y + z) = x y + x z, a true rewriting
    for (size_t i = 0; i < 2; ++i) {
      if (e.kids[i]->kind != Expr::add) continue;
      Expr sum = *e.kids[i];
      for (E& kid : sum.kids) {
        Expr product = e;
        product.kids[i] = kid;
        kid = make(product);
      }
      return make(sum);
    }
    return make(e);
  }
  E changed(Expr e) {
    switch (e.kind) {
      case Expr::mul:
        return random_() % 2 ? distributed(e) : e.kids[0];
      case Expr::add:
        return e.kids[random_() % 2];
      case Expr::pow:
        e.value = e.value * Rational(random_() % 2 ? 2 : -1);
        break;
      case Expr::number:
        e.value = -e.value;
        break;
      case Expr::fn:
        e.function = e.function == Fn::relu ? Fn::abs : Fn::relu;
        break;
      case Expr::sum:
        e.kind = Expr::max;
        break;
      case Expr::max:
        e.kind = Expr::sum;
        break;
      case Expr::where:
        std::swap(e.kids[1], e.kids[2]);
        break;
      case Expr::leaf:
        if (random_() % 2)
          e.name = e.name == "x" ? "y" : "x";
        else
          e.index[0].parts[0].k += 1;
        break;
      default:
        if (!e.index.empty()) e.index[0].parts.push_back({1, "", -1, ""});
    }
    return make(e);
  }
  laws::Dice random_;
};

struct Outcome {
  std::string mismatch;
  bool equal = false;
};

struct Pair {
  Drawn one;
  E changed;
};
/// What RapidCheck prints of the smallest failure.
void showValue(const Pair& pair, std::ostream& out) {
  showValue(pair.one, out);
  out << "\nand\n" << text(pair.changed);
}
rc::Gen<Pair> pairs(Recipe recipe) {
  return rc::gen::apply(
      [](const Drawn& one, std::vector<uint64_t> words) {
        return Pair{one, Mutation(laws::Dice(std::move(words)))(one.program)};
      },
      programs(recipe), laws::dice_words(40));
}

Outcome compare_pair(const Pair& pair, int limit) {
  const E &one = pair.one.program, &two = pair.changed;
  Algebra a(Budget{limit, 400000, 400000});
  a.declare_range(size_nf(a, "D/2"));
  Lower lower{a, std::vector<Nf>(pair.one.variables)};
  Var k = a.fresh(a.size("K"), "k"), j = a.fresh(size_nf(a, "V/t"), "j");
  lower.env[0] = a.var(k), lower.env[1] = a.var(j);
  Nf x, y;
  try {
    x = lower(one), y = lower(two);
    if (compare(a, x, y) != Comparison::equal) {
      if (!explain(a, x, y)) return {"different, and nothing to explain", false};
      return {};
    }
  } catch (const BudgetExceeded&) {
    return {};
  } catch (const Overflow&) {
    return {};
  }
  for (const SizeValues& sizes : {SizeValues{{"K", 4}, {"L", 3}, {"t", 2}, {"V", 6}, {"D", 2}},
                                  SizeValues{{"K", 2}, {"L", 5}, {"t", 3}, {"V", 6}, {"D", 8}}})
    for (int v = 0; v < sizes.at("K"); ++v) {
      Direct direct{sizes, 0, std::vector<int>(pair.one.variables)};
      direct.env[0] = v;
      double first = direct(one), second = direct(two);
      if (!std::isfinite(first) || !std::isfinite(second) || direct.largest > 1e6) continue;
      if (std::fabs(first - second) > 1e-6 * (1 + direct.largest))
        return {std::to_string(first) + " and " + std::to_string(second) +
                    " called equal: " + a.show(x),
                true};
    }
  return {"", true};
}

struct CompareLaw : testing::TestWithParam<int> {};

TEST_P(CompareLaw, EqualMeansEqualValues) {
  int equal = 0;
  EXPECT_TRUE(laws::holds("what compare() calls equal has equal values", 1'000, 20'000, [&] {
    const Pair pair = *pairs(static_cast<Recipe>(GetParam()));
    const Outcome outcome = compare_pair(pair, *rc::gen::element(1, 24));
    equal += outcome.equal;
    if (!outcome.mismatch.empty()) RC_FAIL(outcome.mismatch);
  }));
  EXPECT_GT(equal, 10);
}

INSTANTIATE_TEST_SUITE_P(Recipes, CompareLaw, testing::Range(0, static_cast<int>(Recipe::count)));

}  // namespace
}  // namespace shardproof::algebra
