#include "spec/lower/linear.h"

#include <gtest/gtest.h>

namespace shardproof::lower {
namespace {

using algebra::Fn;
using algebra::Leaf;
using algebra::Nf;
using algebra::Var;

struct Linear : testing::Test {
  algebra::Algebra a;
  Nf B = a.size("B"), d = a.size("d");
  Var b = a.fresh(B, "b"), k = a.fresh(B, "k");
  Leaf carry = a.leaf("carry", {B}), other = a.leaf("other", {B}), weight = a.leaf("w", {B, B});
  Nf c = a.at(carry, {a.var(b)}), o = a.at(other, {a.var(b)});
  Nf w = a.at(weight, {a.var(b), a.var(k)}), ck = a.at(carry, {a.var(k)});
  Degrees degrees{a.engine(), {"carry", "other"}};
};

TEST_F(Linear, SumsOfProductsWithOneCarryEach) {
  for (Nf e : {c, a.mul(w, c), a.add(a.mul(w, c), a.mul(a.number(3), o)), a.sum({k}, a.mul(w, ck)),
               a.mul(a.apply(Fn::tanh, w), c), a.number(0)})
    EXPECT_TRUE(degrees.is(e, 1)) << a.show(e);
}

TEST_F(Linear, EverythingElseIsNot) {
  for (Nf e :
       {a.mul(c, c), a.mul(c, o), a.add(c, w), a.apply(Fn::sin, c), a.div(w, c), w, a.number(1),
        a.pow(c, algebra::Rational(1, 2)), a.apply(Fn::abs, c), a.mul(a.lt0_real(c), o),
        a.sum({k}, a.mul(ck, ck)), a.max({k}, ck), a.mul(c, a.apply(Fn::exp, o)),
        a.seal(a.add(c, w)), a.opaque("scan", {{{k}, ck}}, {a.var(b)})})
    EXPECT_FALSE(degrees.is(e, 1)) << a.show(e);
  EXPECT_TRUE(degrees.is(w, 0));
  EXPECT_FALSE(degrees.is(c, 0));
}

/// As many times as large, of sums that are: else a loop from a multiple gets another form.
TEST_F(Linear, TheCommonSizeOfMultiples) {
  const Nf sum = a.add(a.mul(a.number(6), w), a.div(a.mul(a.number(4), c), B));
  const std::vector<Nf> two = {sum, a.mul(d, o)};
  for (Nf by :
       {a.number(1), d, a.div(d, B), a.mul(a.number(algebra::Rational(3, 5)), a.mul(B, B))}) {
    std::vector<Nf> multiples;
    for (Nf e : two) multiples.push_back(a.mul(by, e));
    EXPECT_EQ(common_size(a.engine(), multiples), a.mul(by, common_size(a.engine(), two)));
    EXPECT_EQ(common_size(a.engine(), {multiples[0]}), a.mul(by, common_size(a.engine(), {sum})));
  }
  EXPECT_EQ(common_size(a.engine(), {a.number(0)}), a.number(1));
}

}  // namespace
}  // namespace shardproof::lower
