// Rows under strictly increasing functions are one row; and the order is kept, entry by entry.
#include <gtest/gtest.h>

#include <cmath>

#include "spec/algebra/builder.h"
#include "spec/algebra/nf_value.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof::algebra {
namespace {

struct OrderTest : testing::Test {
  Builder b;
  Var j = b.a.fresh(b.size("V"), "j"), i = b.a.fresh(b.size("K"), "i");
  Nf x = b.at("x", {b.size("V")}, {b.a.var(j)});
  Nf c = b.at("c", {b.size("K")}, {b.a.var(i)});
  Nf p = b.a.at(b.a.leaf("p", {b.size("V")}, {false, true, {}, false}), {b.a.var(j)});
  Nf q = b.a.at(b.a.leaf("q", {b.size("V")}, {false, true, {}, false}), {b.a.var(j)});

  Nf ordered(Nf e) { return same_order(b.a, {j}, e); }
  Nf of(Fn fn, Nf e) { return b.a.apply(fn, e); }
};

TEST_F(OrderTest, StrictlyIncreasingFunctionsAreTakenOff) {
  EXPECT_EQ(ordered(of(Fn::tanh, x)), ordered(x));
  EXPECT_EQ(ordered(of(Fn::sigmoid, x)), ordered(x));
  EXPECT_EQ(ordered(of(Fn::erf, x)), ordered(x));
  EXPECT_EQ(ordered(of(Fn::exp, b.a.sub(x, c))), ordered(x));
  EXPECT_EQ(ordered(b.a.div(of(Fn::exp, x), of(Fn::exp, c))), ordered(x));
  EXPECT_EQ(ordered(b.a.pow(x, 3)), ordered(x));
  EXPECT_EQ(ordered(b.log(p)), ordered(p));
  EXPECT_EQ(ordered(b.sqrt(p)), ordered(p));
  EXPECT_EQ(ordered(b.a.mul(p, q)), ordered(b.a.add(b.log(p), b.log(q))));
  EXPECT_EQ(ordered(b.a.mul(b.sqrt(b.n(2)), b.a.mul(b.size("M"), x))), ordered(x));
}

TEST_F(OrderTest, SumsOfIncreasingFunctionsAreTakenOff) {
  const Nf n = b.at("n", {b.size("V")}, {b.a.var(j)});
  b.a.declare_bound(n, false);
  EXPECT_EQ(ordered(b.a.add(x, of(Fn::exp, x))), ordered(x));
  EXPECT_EQ(ordered(b.a.mul(p, of(Fn::sigmoid, p))), ordered(p));
  EXPECT_EQ(ordered(b.a.mul(n, n)), ordered(n));
  EXPECT_NE(ordered(b.a.sub(x, of(Fn::exp, x))), ordered(x));
  EXPECT_NE(ordered(b.a.add(x, of(Fn::exp, p))), ordered(x));
}

TEST(Order, PowersOfNegativesAreTakenOff) {
  for (Fault fault : {Fault::none, Fault::order_power}) {
    Algebra a({}, fault);
    const Nf V = a.size("V");
    const Var j = a.fresh(V, "j");
    const Nf n = a.at(a.leaf("n", {V}), {a.var(j)});
    a.declare_bound(a.neg(n), true);
    for (int k : {-3, -2, -1, 1, 2, 3}) {
      const double nearer = std::pow(-1.0, k), farther = std::pow(-2.0, k);
      const Nf order = same_order(a, {j}, nearer > farther ? n : a.neg(n));
      EXPECT_EQ(same_order(a, {j}, a.pow(n, k)) == order, fault == Fault::none || k % 2 != 0) << k;
    }
  }
}

TEST_F(OrderTest, OthersAreKept) {
  EXPECT_NE(ordered(b.a.mul(x, x)), ordered(x));
  EXPECT_NE(ordered(b.a.neg(x)), ordered(x));
  EXPECT_NE(ordered(b.a.mul(c, x)), ordered(x));  // c may be negative, or 0
  EXPECT_NE(ordered(b.a.pow(p, -1)), ordered(p));
  EXPECT_NE(ordered(b.a.div(b.n(1), x)), ordered(b.a.neg(x)));  // 1/x jumps at 0
  EXPECT_NE(ordered(of(Fn::floor, x)), ordered(x));             // makes ties
  EXPECT_NE(ordered(of(Fn::relu, x)), ordered(x));
  EXPECT_NE(ordered(of(Fn::sin, x)), ordered(x));
  EXPECT_NE(ordered(b.a.mul(p, x)), ordered(x));  // p is another factor for each entry
}

/// A row of random functions, some of them increasing.
Nf random_row(Algebra& a, laws::Dice& rng, Var i, Var j) {
  const Nf V = a.size("V"), K = a.size("K");
  const auto leaf = [&](const char* name, Nf range, Var v, bool positive) {
    return a.at(a.leaf(name, {range}, {false, positive, {}, false}), {a.var(v)});
  };
  const auto draw = [&](unsigned n) { return static_cast<unsigned>(rng()) % n; };
  Nf e = draw(2) ? leaf("p0", V, j, true) : leaf("x", V, j, false);
  for (unsigned left = 1 + draw(4); left > 0; --left) {
    switch (draw(13)) {
      case 11:
        e = a.add(e, a.apply(draw(2) ? Fn::exp : Fn::sigmoid, e));
        break;
      case 12:
        e = a.sub(e, a.apply(Fn::sigmoid, draw(2) ? e : a.neg(e)));
        break;
      case 0:
        e = a.apply(draw(2) ? Fn::sigmoid : Fn::tanh, e);
        break;
      case 1:
        e = a.apply(Fn::exp, e);
        break;
      case 2:
        e = a.apply(Fn::erf, e);
        break;
      case 3:
        if (a.known_positive(e)) e = a.apply(Fn::log, e);
        break;
      case 4:
        e = a.pow(e, draw(2) ? 3 : 2);
        break;
      case 5:
        if (a.known_positive(e)) e = a.pow(e, draw(2) ? Rational(1, 2) : Rational(-1));
        break;
      case 6:
        e = a.mul(e, leaf("c", K, i, false));
        break;
      case 7:
        e = a.mul(e, leaf("p1", K, i, true));
        break;
      case 8:
        e = a.add(e, draw(2) ? leaf("c", K, i, false) : a.number(-2));
        break;
      case 9:
        e = a.mul(e, leaf("p2", V, j, true));
        break;
      default:
        e = a.neg(e);
    }
  }
  return e;
}

struct DrawnRow {
  laws::Dice dice;
};
/// What RapidCheck prints of the smallest failure.
void showValue(DrawnRow row, std::ostream& out) {
  Algebra a;
  const Var i = a.fresh(a.size("K"), "i"), j = a.fresh(a.size("V"), "j");
  out << "\n" << a.show(random_row(a, row.dice, i, j));
}
rc::Gen<DrawnRow> rows() {
  return rc::gen::map(laws::dice_words(20), [](std::vector<uint64_t> words) {
    return DrawnRow{laws::Dice(std::move(words))};
  });
}

/// The number of pairs that are in another order in the row that is to have the same one.
int out_of_order(laws::Dice rng, Fault fault, int* compared) {
  const SizeValues sizes = {{"V", 5}, {"K", 2}};
  Algebra a({}, fault);
  const Var i = a.fresh(a.size("K"), "i"), j = a.fresh(a.size("V"), "j");
  const Nf row = random_row(a, rng, i, j), same = same_order(a, {j}, row);
  int wrong = 0;
  for (int at = 0; at < sizes.at("K"); ++at) {
    std::vector<double> x, y;
    NfValue value{a.engine(), sizes};
    for (int k = 0; k < sizes.at("V"); ++k) {
      x.push_back(value(row, {{i.id, at}, {j.id, k}}));
      y.push_back(value(same, {{i.id, at}, {j.id, k}}));
    }
    if (value.largest > 5) continue;  // erf(6) is 1 by rounding
    for (size_t k = 0; k < x.size(); ++k)
      for (size_t l = 0; l < k; ++l) {
        const double dx = x[k] - x[l], dy = y[k] - y[l];
        if (std::abs(dx) < 1e-9 && dx != 0) continue;  // rounding decides
        ++*compared;
        wrong += dx > 0 ? dy <= 0 : dx < 0 ? dy >= 0 : std::abs(dy) > 1e-9;
      }
  }
  return wrong;
}

TEST(OrderLaw, TheRowKeepsItsOrder) {
  int compared = 0;
  EXPECT_TRUE(laws::holds("the row keeps its order", 1'000, 20'000, [&] {
    RC_ASSERT(out_of_order((*rows()).dice, Fault::none, &compared) == 0);
  }));
  EXPECT_GT(compared, 1000);
}

TEST(OrderLaw, FindsPlantedFaults) {
  for (Fault fault : {Fault::order_factor, Fault::order_power, Fault::order_sum}) {
    int wrong = 0, compared = 0;
    for (unsigned seed = 0; seed < 500; ++seed)
      wrong += out_of_order(laws::Dice(seed), fault, &compared);
    EXPECT_GT(wrong, 0) << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace shardproof::algebra
