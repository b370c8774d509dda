// Hand-written gradients against the expanded derivative, expert routing, and exact arithmetic.
#include <gtest/gtest.h>

#include "spec/algebra/builder.h"

namespace shardproof::algebra {
namespace {

struct Backward : testing::Test, Builder {
  Nf B = size("B"), M = size("M"), V = size("V"), t = size("t");
  Var m_ = a.fresh(M, "m"), v_ = a.fresh(V, "v");
  Nf m = a.var(m_), v = a.var(v_);
  void equal(Nf x, Nf y) { EXPECT_EQ(compare(a, x, y), Comparison::equal) << a.show(a.sub(x, y)); }
  void differ(Nf x, Nf y) { EXPECT_EQ(compare(a, x, y), Comparison::not_shown); }
};

TEST_F(Backward, Softmax) {
  auto e = [&](Nf k) { return exp(at("s", {V}, {k})); };
  auto g = [&](Nf k) { return at("g", {V}, {k}); };
  Nf z = sum(V, e);
  auto p = [&](Nf k) { return a.div(e(k), z); };
  Nf hand = a.mul(p(v), a.sub(g(v), sum(V, [&](Nf k) { return a.mul(p(k), g(k)); })));
  Nf quotient =
      a.sub(a.div(a.mul(e(v), g(v)), z),
            a.mul(a.div(e(v), a.pow(z, 2)), sum(V, [&](Nf k) { return a.mul(e(k), g(k)); })));
  equal(hand, quotient);
  differ(a.mul(p(v), g(v)), quotient);
}

TEST_F(Backward, CrossEntropy) {
  Leaf ids = a.leaf("ids", {B}, {true, false, V, false});
  Var b_ = a.fresh(B, "b");
  Nf b = a.var(b_);
  auto e = [&](Nf k) { return exp(at("s", {B, V}, {b, k})); };
  Nf one_hot = a.eq0(a.sub(a.at(ids, {b}), v));
  Nf hand = a.div(a.sub(a.div(e(v), sum(V, e)), one_hot), B);
  Nf local = a.div(V, t);
  Nf z = sharded_sum(V, t, e);
  equal(a.sub(a.div(e(v), a.mul(B, z)), a.div(one_hot, B)), hand);
  EXPECT_EQ(a.sum({v_}, a.mul(hand, B)), n(0)) << a.show(a.sum({v_}, hand));
  differ(a.sub(a.div(e(v), sum(local, e)), one_hot), a.mul(B, hand));
}

TEST_F(Backward, RmsNorm) {
  Nf eps = at("eps", {}, {});
  a.declare_positive(eps);
  auto x = [&](Nf k) { return at("x", {M}, {k}); };
  auto gw = [&](Nf k) { return a.mul(at("g", {M}, {k}), at("w", {M}, {k})); };
  Nf mean = a.add(a.div(sum(M, [&](Nf k) { return a.pow(x(k), 2); }), M), eps);
  Nf r = a.pow(mean, {-1, 2});
  Nf dot = sum(M, [&](Nf k) { return a.mul(gw(k), x(k)); });
  Nf model = a.sub(a.mul(r, gw(m)), a.div(a.mul(a.mul(a.pow(mean, {-3, 2}), x(m)), dot), M));
  auto normed = [&](Nf k) { return a.mul(x(k), r); };
  Nf hand_dot = a.div(sharded_sum(M, t, [&](Nf k) { return a.mul(gw(k), normed(k)); }), M);
  equal(a.mul(r, a.sub(gw(m), a.mul(normed(m), hand_dot))), model);
  differ(a.mul(r, gw(m)), model);
  differ(a.mul(r, a.sub(gw(m), a.mul(normed(m), a.mul(M, hand_dot)))), model);
}

TEST_F(Backward, Silu) {
  Nf u = at("u", {M}, {m}), s = a.apply(Fn::sigmoid, u);
  Nf hand = a.add(s, a.mul(a.mul(u, s), a.sub(n(1), s)));
  Nf fused = a.mul(s, a.add(n(1), a.mul(u, a.apply(Fn::sigmoid, a.neg(u)))));
  equal(hand, fused);
  Nf quotient = a.pow(a.add(n(1), exp(a.neg(u))), -1);
  equal(quotient, s);
  Nf ratio = a.div(exp(u), a.add(n(1), exp(u)));
  equal(ratio, s);
}

TEST_F(Backward, ExpertDispatchEqualsDense) {
  Nf N = size("N"), K = size("K"), X = size("E"), S = size("S");
  Leaf expert = a.leaf("expert", {N, K}, {true, false, X, false});
  Leaf slot = a.leaf("slot", {N, K}, {true, false, S, false});
  a.declare_injective({expert, slot});
  Var n_ = a.fresh(N, "n");
  Nf i = a.var(n_);
  auto here = [&](Nf tok, Nf k, Nf e, Nf s) {
    return a.mul(a.eq0(a.sub(a.at(expert, {tok, k}), e)), a.eq0(a.sub(a.at(slot, {tok, k}), s)));
  };
  auto ffn = [&](Nf e, Nf x) {
    return a.mul(at("w2", {X}, {e}), silu(a.mul(at("w1", {X}, {e}), x)));
  };
  auto gate = [&](Nf tok, Nf k) { return at("gate", {N, K}, {tok, k}); };
  Nf dense = sum(K, [&](Nf k) {
    return a.mul(gate(i, k), ffn(a.at(expert, {i, k}), at("x", {N}, {i})));
  });
  auto buffer = [&](Nf e, Nf s) {
    return sum(N, [&](Nf tok) {
      return sum(K, [&](Nf k) { return a.mul(here(tok, k, e, s), at("x", {N}, {tok})); });
    });
  };
  Nf dispatched = sum(K, [&](Nf k) {
    return a.mul(gate(i, k), sum(X, [&](Nf e) {
                   return sum(S,
                              [&](Nf s) { return a.mul(here(i, k, e, s), ffn(e, buffer(e, s))); });
                 }));
  });
  equal(dispatched, dense);
}

TEST_F(Backward, DeclaredDivisionsAndPowers) {
  EXPECT_EQ(a.pow(a.pow(M, {1, 2}), 2), M);
  EXPECT_EQ(sqrt(n(8)), a.mul(n(2), sqrt(n(2))));
  EXPECT_EQ(a.pow(n(8), {-1, 2}), a.mul(n({1, 4}), sqrt(n(2))));
  Nf x = at("x", {M}, {m});
  EXPECT_NE(sqrt(a.pow(x, 2)), x);
  EXPECT_EQ(sqrt(a.pow(x, 2)), a.apply(Fn::abs, x));
  EXPECT_EQ(a.pow(a.apply(Fn::abs, x), 2), a.pow(x, 2));
  EXPECT_NE(log(a.pow(x, 2)), a.mul(n(2), log(x)));
  EXPECT_EQ(a.maximum(x, n(0)), a.apply(Fn::relu, x));
  Nf y = at("y", {M}, {m});
  EXPECT_EQ(a.maximum(x, y), a.maximum(y, x));
  EXPECT_EQ(a.add(a.maximum(x, y), a.minimum(x, y)), a.add(x, y));
  Nf i = a.iota(m), j = a.iota(v);
  EXPECT_EQ(a.maximum(i, j), a.maximum(j, i));
}

TEST_F(Backward, TwoHalvesAreTheWhole) {
  Nf half = a.mul(V, n({1, 2}));
  a.declare_range(half);
  auto x = [&](Nf k) { return a.mul(at("x", {V}, {k}), at("y", {V}, {k})); };
  Nf low = sum(half, x), high = sum(half, [&](Nf u) { return x(a.add(u, half)); });
  equal(a.add(low, high), sum(V, x));
  differ(a.add(low, low), sum(V, x));
  Nf A = size("A"), rest = a.sub(V, A);
  a.declare_range(rest);
  equal(a.add(sum(A, x), sum(rest, [&](Nf u) { return x(a.add(u, A)); })), sum(V, x));
}

TEST_F(Backward, DigitsByQuotientAndRemainder) {
  Nf local = a.div(V, t);
  Var c_ = a.fresh(t, "c"), j_ = a.fresh(local, "j");
  Nf w = a.add(a.mul(a.var(c_), local), a.var(j_));
  EXPECT_EQ(a.floordiv(w, local), a.iota(a.var(c_)));
  EXPECT_EQ(a.mod(w, local), a.iota(a.var(j_)));
  EXPECT_EQ(a.eq0(a.sub(a.floordiv(w, local), a.var(c_))), n(1));
}

TEST(Budgets, StepsAndOverflowAreReported) {
  Algebra a(Budget{1, 200, 100000});
  Nf M = a.size("M");
  auto grow = [&] {
    Nf total = a.number(0);
    for (int i = 0; i < 100; ++i)
      total = a.add(total, a.at(a.leaf("x" + std::to_string(i), {M}), {a.number(i)}));
  };
  EXPECT_THROW(grow(), BudgetExceeded);
  Algebra b;
  Nf big = b.number(int64_t{1} << 40);
  EXPECT_THROW(b.mul(big, big), Overflow);
}

}  // namespace
}  // namespace shardproof::algebra
