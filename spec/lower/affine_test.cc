// Loops that scale a carry and add to it: the weights satisfy their equations, or there are none.
#include "spec/lower/affine.h"

#include <gtest/gtest.h>

namespace shardproof::lower {
namespace affine_test {

using algebra::Algebra;
using algebra::Budget;
using algebra::Fault;
using algebra::Fn;
using algebra::Rational;

struct Loop {
  explicit Loop(Fault fault = Fault::none) : a(Budget{}, fault) { a.declare_bound(decay, true); }

  Nf number(int64_t value) { return a.number(Rational(value)); }
  Nf before(Nf e) {
    const Var earlier = a.fresh(N, "m");
    const Nf there = a.substitute(e, {{n, a.var(earlier)}});
    return a.sum({earlier}, a.mul(there, a.le0(a.add(a.sub(a.var(earlier), a.var(n)), number(1)))));
  }
  Steps steps() {
    const Nf here = a.var(n), last = a.sub(N, number(1));
    return {n, number(0), last, a.add(here, number(1)), here, [this](Nf e) { return before(e); }};
  }
  std::optional<Weights> weights(Nf factor) { return weights_of(a, factor, steps()); }
  Nf at(Nf e, Nf step) { return a.substitute(e, {{n, step}}); }
  Nf quotient(int64_t above, int64_t below) {  // (n + above) / (n + below)
    const Nf here = a.iota(a.var(n));
    return a.div(a.add(here, number(above)), a.add(here, number(below)));
  }

  Algebra a;
  Nf N = a.size("N");
  Var n = a.fresh(N, "n");
  Nf decay = a.at(a.leaf("g", {}), {}), any = a.at(a.leaf("x", {}), {});
  Nf data = a.at(a.leaf("z", {N}), {a.var(n)});
};

/// f h(n + 1) = h(n) at each step n, and `first` and `end` are values of h.
TEST(Weights, SatisfyTheirEquations) {
  Loop loop;
  Algebra& a = loop.a;
  for (Nf factor : {loop.decay, a.number(Rational(1, 2)), loop.quotient(0, 1), loop.quotient(2, 3),
                    a.mul(loop.decay, loop.decay)}) {
    const auto h = loop.weights(factor);
    ASSERT_TRUE(h) << a.show(factor);
    EXPECT_EQ(a.div(h->here, h->next), factor) << a.show(factor);
    EXPECT_EQ(loop.at(h->here, loop.steps().first), h->first) << a.show(factor);
    EXPECT_EQ(loop.at(h->here, loop.steps().next), h->next) << a.show(factor);
    EXPECT_EQ(loop.at(h->next, loop.steps().last), h->end) << a.show(factor);
  }
}

TEST(Weights, OfDataWithASign) {
  Loop loop;
  const auto h = loop.weights(loop.a.apply(Fn::exp, loop.data));
  ASSERT_TRUE(h);
  EXPECT_EQ(loop.a.mul(loop.a.apply(Fn::exp, loop.data), h->next), h->here);
}

bool none(Fault fault) {
  Loop loop(fault);
  Algebra& a = loop.a;
  for (Nf factor : {loop.any, loop.data, a.neg(loop.decay), a.mul(loop.any, loop.any),
                    loop.quotient(-1, 0), loop.quotient(-3, -2)})
    if (loop.weights(factor)) return false;
  return true;
}

TEST(Weights, NoneWhereOneMayBeZeroOrASignIsOpen) {
  EXPECT_TRUE(none(Fault::none));
  EXPECT_FALSE(none(Fault::weight_sign));
  EXPECT_FALSE(none(Fault::weight_zero));
}

TEST(Affine, ACarryTimesAFactorAndMore) {
  Loop loop;
  Algebra& a = loop.a;
  const Nf carry = a.at(a.leaf("c", {}), {});
  const auto step = affine_in(a.engine(), a.add(a.mul(loop.decay, carry), loop.data), carry);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->factor, loop.decay);
  EXPECT_EQ(step->more, loop.data);
  EXPECT_FALSE(affine_in(a.engine(), loop.data, carry));
}

}  // namespace affine_test
}  // namespace shardproof::lower
