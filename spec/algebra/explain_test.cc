// The report about a difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/algebra/builder.h"

namespace shardproof::algebra {
namespace {

using testing::HasSubstr;

struct Explain : testing::Test, Builder {
  Nf B = size("B"), M = size("M"), F = size("F"), t = size("t");
  Var b_ = a.fresh(B, "b");
  Nf b = a.var(b_);

  Nf leaf(const char* name, Nf i) { return at(name, {M}, {i}); }
  Nf dot(const char* x, const char* y) {
    return sum(M, [&](Nf k) { return a.mul(leaf(x, k), leaf(y, k)); });
  }
  Difference why(Nf plan, Nf model) {
    auto d = explain(a, plan, model);
    EXPECT_TRUE(d.has_value());
    return d.value_or(Difference{});
  }
};

TEST_F(Explain, EqualHasNothingToSay) { EXPECT_FALSE(explain(a, dot("x", "y"), dot("y", "x"))); }

TEST_F(Explain, Factor) {
  Difference d = why(a.mul(dot("x", "w"), t), dot("x", "w"));
  EXPECT_EQ(d.kind, Difference::factor);
  EXPECT_EQ(d.text, "equal up to the factor |t|");
  EXPECT_EQ(d.factor_value, t);
  d = why(a.div(a.add(dot("x", "w"), dot("x", "v")), a.mul(n(2), B)),
          a.add(dot("x", "w"), dot("x", "v")));
  EXPECT_EQ(d.kind, Difference::factor);
  EXPECT_EQ(d.factor_value, a.pow(a.mul(n(2), B), -1));
}

TEST_F(Explain, Summands) {
  Difference d = why(dot("x", "w"), a.add(dot("x", "w"), dot("g", "a")));
  EXPECT_EQ(d.kind, Difference::missing_summand);
  EXPECT_THAT(d.text, HasSubstr("missing term"));
  EXPECT_THAT(d.text, HasSubstr("g["));
  EXPECT_EQ(why(a.add(dot("x", "w"), dot("g", "a")), dot("x", "w")).kind,
            Difference::extra_summand);
  d = why(a.add(dot("x", "w"), a.mul(t, dot("g", "a"))), a.add(dot("x", "w"), dot("g", "a")));
  EXPECT_EQ(d.kind, Difference::other);  // a term is off, not the value
  EXPECT_THAT(d.text, HasSubstr("off by the factor |t|"));
}

TEST_F(Explain, Operands) {
  Difference d = why(dot("nx2", "w"), dot("nx1", "w"));
  EXPECT_EQ(d.kind, Difference::operand);
  EXPECT_THAT(d.text, HasSubstr("nx2 instead of nx1"));
  d = why(dot("g", "x"), a.mul(at("lr", {}, {}), dot("g", "x")));
  EXPECT_EQ(d.kind, Difference::operand);
  EXPECT_THAT(d.text, HasSubstr("missing factor lr"));
}

TEST_F(Explain, InsideFunctions) {
  Difference d = why(a.mul(dot("x", "wu"), a.apply(Fn::tanh, dot("x", "wu"))),
                     a.mul(dot("x", "wu"), a.apply(Fn::tanh, dot("x", "wg"))));
  EXPECT_EQ(d.kind, Difference::inside);
  EXPECT_THAT(d.text, HasSubstr("inside tanh"));
  EXPECT_THAT(d.text, HasSubstr("wu instead of wg"));
}

/// tanh(u) is 2 sigmoid(2 u) - 1 in a normal form, and a term of it is none of the file.
TEST_F(Explain, TanhIsShownAsWritten) {
  const Nf h = dot("x", "w"), tanh = a.apply(Fn::tanh, h);
  Difference d = why(a.mul(leaf("g", b), a.sub(n(1), tanh)),
                     a.mul(leaf("g", b), a.sub(n(1), a.mul(tanh, tanh))));
  EXPECT_THAT(d.text, HasSubstr("*tanh(sum"));
  EXPECT_THAT(d.text, HasSubstr("^2"));
  EXPECT_EQ(d.text.find("sigmoid"), d.text.npos) << d.text;
  EXPECT_EQ(a.show(a.add(tanh, leaf("g", b))).find("sigmoid"), std::string::npos);
  d = why(
      sum(B,
          [&](Nf i) { return a.mul(leaf("g", i), a.sub(n(1), a.apply(Fn::tanh, leaf("k", i)))); }),
      sum(B, [&](Nf i) { return a.mul(leaf("g", i), a.apply(Fn::tanh, leaf("k", i))); }));
  EXPECT_EQ(d.text.find("off by the factor 2"), d.text.npos) << d.text;
  d = why(a.apply(Fn::sigmoid, h), a.apply(Fn::sigmoid, dot("x", "v")));
  EXPECT_THAT(d.text, HasSubstr("inside sigmoid"));
}

/// Two normal forms of one value: with tanh in place of sigmoid they are the same.
TEST_F(Explain, FormsThatDifferInTanhAlone) {
  const Nf u = leaf("g", b), tanh = a.apply(Fn::tanh, u),
           sigmoid = a.apply(Fn::sigmoid, a.mul(n(2), u));
  const Nf whole = a.seal(tanh), parts = a.sub(a.mul(n(2), sigmoid), n(1));
  for (const Nf plan : {whole, a.mul(whole, whole), a.apply(Fn::exp, whole)}) {
    for (const Nf model : {parts, a.mul(parts, parts), a.apply(Fn::exp, parts)}) {
      EXPECT_EQ(explain(a, plan, model).has_value(), plan != model);
    }
  }
}

TEST_F(Explain, AnAbsoluteValueIsShownAsOne) {
  EXPECT_EQ(a.show(a.apply(Fn::abs, leaf("g", b))), "abs(g[b])");
  EXPECT_EQ(a.show(a.apply(Fn::abs, a.add(leaf("g", b), leaf("k", b)))).substr(0, 6), "abs(g[");
  EXPECT_EQ(a.show(a.pow(leaf("k", b), Rational(1, 2))), "k[b]^(1/2)");
}

/// A condition is no operand, and sums over other dims differ in more than the dim.
TEST_F(Explain, NoMoreIsClaimedThanIsSo) {
  const Nf g = leaf("g", b), k = leaf("k", b);
  Difference d = why(a.mul(g, a.le0(a.sub(g, k))), a.mul(g, a.eq0(a.sub(g, k))));
  EXPECT_EQ(d.text.find("operand"), d.text.npos) << d.text;
  d = why(a.apply(Fn::exp, a.mul(g, sum(M, [&](Nf i) { return leaf("x", i); }))),
          a.apply(Fn::exp, a.mul(g, sum(F, [&](Nf i) { return at("y", {F}, {i}); }))));
  EXPECT_EQ(d.text.find("sum over"), d.text.npos) << d.text;
}

TEST_F(Explain, ADifferenceHasALength) {
  Nf many = n(1);
  for (int i = 0; i < 60; ++i) many = a.mul(many, leaf(("factor" + std::to_string(i)).c_str(), b));
  const Difference d = why(a.add(dot("x", "w"), many), dot("x", "w"));
  EXPECT_THAT(d.text, HasSubstr("extra term factor"));
  EXPECT_LE(d.text.size(), 170u);
}

TEST_F(Explain, IndicesAndRanges) {
  Nf stride = a.div(M, t);
  a.declare_range(stride);
  auto read = [&](Nf s) { return leaf("x", a.add(a.mul(b, s), n(1))); };
  Difference d = why(read(stride), read(M));
  EXPECT_EQ(d.kind, Difference::index);
  EXPECT_THAT(d.text, HasSubstr("index of x"));
  EXPECT_THAT(d.text, HasSubstr("|t|^(-1)"));
  d = why(sum(stride, [&](Nf k) { return leaf("x", k); }),
          sum(M, [&](Nf k) { return leaf("x", k); }));
  EXPECT_EQ(d.kind, Difference::index);
  EXPECT_THAT(d.text, HasSubstr("instead of |M|"));
}

}  // namespace
}  // namespace shardproof::algebra
