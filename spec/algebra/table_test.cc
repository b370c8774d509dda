// Programs that are equal, and near misses that are not (feed-forward, norms, softmax, factors,
// optimizer).
#include <gtest/gtest.h>

#include "spec/algebra/builder.h"

namespace shardproof::algebra {
namespace {

struct Table : testing::Test, Builder {
  Nf B = size("B"), M = size("M"), F = size("F"), V = size("V"), t = size("t");
  Var b_ = a.fresh(B, "b"), m_ = a.fresh(M, "m");
  Nf b = a.var(b_), m = a.var(m_);

  void equal(Nf x, Nf y) {
    EXPECT_EQ(compare(a, x, y), Comparison::equal) << a.show(x) << "\n--- and ---\n" << a.show(y);
  }
  void same(Nf x, Nf y) { EXPECT_EQ(x, y) << a.show(x) << "\n--- and ---\n" << a.show(y); }
  void differ(Nf x, Nf y) { EXPECT_EQ(compare(a, x, y), Comparison::not_shown) << a.show(x); }

  Nf x(Nf i, Nf j) { return at("x", {B, M}, {i, j}); }
  Nf w(const char* name, Nf i, Nf j) { return at(name, {M, F}, {i, j}); }
  std::function<Nf(Nf)> row = [this](Nf j) { return at("row", {V}, {j}); };
};

TEST_F(Table, SwiGluWithShardedHiddenAxis) {
  auto hidden = [&](Nf f) {
    Nf gate = sum(M, [&](Nf k) { return a.mul(x(b, k), w("wg", k, f)); });
    Nf up = sum(M, [&](Nf k) { return a.mul(x(b, k), w("wu", k, f)); });
    return a.mul(silu(gate), up);
  };
  auto out = [&](Nf f) { return a.mul(hidden(f), at("wd", {F, M}, {f, m})); };
  Nf model = sum(F, out), plan = sharded_sum(F, t, out);
  same(plan, model);
  differ(sum(a.div(F, t), out), model);  // no psum
  differ(a.mul(plan, t), model);         // counted t times
  auto swapped = [&](Nf f) {
    Nf gate = sum(M, [&](Nf k) { return a.mul(x(b, k), w("wu", k, f)); });
    Nf up = sum(M, [&](Nf k) { return a.mul(x(b, k), w("wg", k, f)); });
    return a.mul(a.mul(silu(gate), up), at("wd", {F, M}, {f, m}));
  };
  differ(sum(F, swapped), model);
}

TEST_F(Table, SiluBeforeTheReductionDiffers) {
  auto partial = [&](Nf c) {
    Nf local = a.div(M, t);
    return sum(local, [&](Nf j) {
      Nf k = a.add(a.mul(c, local), j);
      return a.mul(x(b, k), w("wg", k, n(0)));
    });
  };
  Nf after = silu(sum(t, partial));
  Nf before = sum(t, [&](Nf c) { return silu(partial(c)); });
  same(after, silu(sum(M, [&](Nf k) { return a.mul(x(b, k), w("wg", k, n(0))); })));
  differ(before, after);
}

TEST_F(Table, MeanOfMeans) {
  Nf model = a.div(sum(B, [&](Nf i) { return x(i, m); }), B), local = a.div(B, t);
  Nf plan = a.div(sum(t,
                      [&](Nf c) {
                        Nf s = sum(local, [&](Nf j) { return x(a.add(a.mul(c, local), j), m); });
                        return a.div(s, local);
                      }),
                  t);
  same(plan, model);
  differ(a.mul(plan, t), model);
}

TEST_F(Table, RmsNorm) {
  a.declare_positive(at("eps", {}, {}));
  auto norm = [&](auto sum_over) {
    Nf square = sum_over([&](Nf k) { return a.mul(x(b, k), x(b, k)); });
    return a.div(a.mul(x(b, m), at("g", {M}, {m})),
                 sqrt(a.add(a.div(square, M), at("eps", {}, {}))));
  };
  Nf model = norm([&](auto f) { return sum(M, f); });
  same(norm([&](auto f) { return sharded_sum(M, t, f); }), model);
  Nf rsqrt = a.pow(a.add(a.mul(a.pow(M, -1), sum(M, [&](Nf k) { return a.pow(x(b, k), 2); })),
                         at("eps", {}, {})),
                   {-1, 2});
  same(a.mul(a.mul(rsqrt, x(b, m)), at("g", {M}, {m})), model);
  differ(norm([&](auto f) { return sum(a.div(M, t), f); }), model);
  differ(norm([&](auto f) { return a.mul(M, sum(M, f)); }), model);
}

TEST(TableAt24, LayerNormVarianceForms) {
  Builder p(24);
  Algebra& a = p.a;
  Nf M = a.size("M");
  auto x = [&](Nf k) { return p.at("x", {M}, {k}); };
  Nf mean = a.div(p.sum(M, x), M);
  Nf centred = a.div(p.sum(M, [&](Nf k) { return a.pow(a.sub(x(k), mean), 2); }), M);
  Nf moments = a.sub(a.div(p.sum(M, [&](Nf k) { return a.pow(x(k), 2); }), M), a.pow(mean, 2));
  EXPECT_EQ(a.show(centred), a.show(moments));
  EXPECT_EQ(compare(a, centred, moments), Comparison::equal);
  EXPECT_EQ(compare(a, centred, a.add(moments, a.pow(mean, 2))), Comparison::not_shown);
}

TEST(TableAt24, LayerNormBackward) {
  Builder p(24);
  Algebra& a = p.a;
  Nf M = a.size("M"), eps = p.at("eps", {}, {});
  a.declare_positive(eps);
  Var m_ = a.fresh(M, "m");
  Nf m = a.var(m_);
  auto x = [&](Nf k) { return p.at("x", {M}, {k}); };
  auto g = [&](Nf k) { return p.at("g", {M}, {k}); };
  Nf mean = a.div(p.sum(M, x), M);
  auto c = [&](Nf k) { return a.sub(x(k), mean); };
  Nf var = a.add(a.div(p.sum(M, [&](Nf k) { return a.pow(c(k), 2); }), M), eps);
  Nf r = a.pow(var, {-1, 2});
  Nf g_mean = a.div(p.sum(M, g), M);
  Nf hand_dot = a.div(p.sum(M, [&](Nf k) { return a.mul(g(k), a.mul(c(k), r)); }), M);
  Nf hand = a.mul(r, a.sub(a.sub(g(m), g_mean), a.mul(a.mul(c(m), r), hand_dot)));
  // d/dx of sum_k g_k c_k r: the centred gradient, and through the variance.
  Nf dot = p.sum(M, [&](Nf k) { return a.mul(g(k), c(k)); });
  Nf through = a.div(a.mul(a.mul(a.pow(var, {-3, 2}), c(m)), dot), M);
  Nf model = a.sub(a.mul(r, a.sub(g(m), g_mean)), through);
  EXPECT_EQ(compare(a, hand, model), Comparison::equal) << a.show(a.sub(hand, model));
  EXPECT_EQ(compare(a, a.mul(r, a.sub(g(m), g_mean)), model), Comparison::not_shown);
}

TEST(TableAt24, LabelSmoothing) {
  Builder p(24);
  Algebra& a = p.a;
  Nf V = a.size("V"), eps = p.at("smooth", {}, {});
  Leaf id = a.leaf("id", {}, {true, false, V, false});
  auto s = [&](Nf v) { return p.at("s", {V}, {v}); };
  Nf lse = p.log(p.sum(V, [&](Nf v) { return p.exp(s(v)); }));
  auto weight = [&](Nf v) {
    return a.add(a.mul(a.sub(p.n(1), eps), a.eq0(a.sub(v, a.at(id, {})))), a.div(eps, V));
  };
  Nf model = p.sum(V, [&](Nf v) { return a.mul(weight(v), a.sub(lse, s(v))); });
  Nf fused = a.sub(a.sub(lse, a.mul(a.sub(p.n(1), eps), s(a.at(id, {})))),
                   a.mul(eps, a.div(p.sum(V, s), V)));
  EXPECT_EQ(compare(a, model, fused), Comparison::equal) << a.show(a.sub(model, fused));
}

TEST_F(Table, SoftmaxForms) {
  auto softmax = [&](Nf v, Nf offset) {
    Nf z = sum(V, [&](Nf k) { return exp(a.sub(row(k), offset)); });
    return a.div(exp(a.sub(row(v), offset)), z);
  };
  Var v_ = a.fresh(V, "v");
  Nf v = a.var(v_);
  Nf naive = softmax(v, n(0)), stable = softmax(v, max(V, row));
  same(naive, stable);
  same(a.sum({v_}, naive), n(1));
  Nf local = a.div(V, t);
  Nf pmax = max(
      t, [&](Nf c) { return max(local, [&](Nf j) { return row(a.add(a.mul(c, local), j)); }); });
  same(pmax, max(V, row));
  same(softmax(v, pmax), naive);
  // Its backward: p (g - sum p g).
  Nf dot = sum(V, [&](Nf k) { return a.mul(softmax(k, n(0)), at("g", {V}, {k})); });
  Nf plan = sharded_sum(V, t, [&](Nf k) { return a.mul(softmax(k, pmax), at("g", {V}, {k})); });
  same(plan, dot);
}

TEST_F(Table, VocabParallelCrossEntropy) {
  Leaf ids = a.leaf("ids", {B}, {true, false, V, false});
  auto logit = [&](Nf v) { return at("logit", {B, V}, {b, v}); };
  Nf target = a.at(ids, {b});
  Nf model = a.sub(log(sum(V, [&](Nf v) { return exp(logit(v)); })), logit(target));
  Nf local = a.div(V, t);
  Nf top = max(
      t, [&](Nf c) { return max(local, [&](Nf j) { return logit(a.add(a.mul(c, local), j)); }); });
  Nf z = sharded_sum(V, t, [&](Nf v) { return exp(a.sub(logit(v), top)); });
  Nf hit = sum(t, [&](Nf c) {
    Nf at_local = a.sub(target, a.mul(c, local));
    return a.mul(a.in_range(at_local, local), sum(local, [&](Nf j) {
                   return a.mul(a.eq0(a.sub(at_local, j)), logit(a.add(a.mul(c, local), j)));
                 }));
  });
  same(a.sub(a.add(log(z), top), hit), model);
  Nf one_hot = sharded_sum(V, t, [&](Nf v) { return a.mul(a.eq0(a.sub(v, target)), logit(v)); });
  same(a.sub(a.add(log(z), top), one_hot), model);
  differ(a.sub(log(z), one_hot), model);  // the offset is lost
  Nf local_z = sum(local, [&](Nf v) { return exp(logit(v)); });
  differ(a.sub(log(local_z), one_hot), model);
}

TEST_F(Table, EmbeddingForms) {
  Leaf ids = a.leaf("ids", {B}, {true, false, V, false});
  auto table = [&](Nf v) { return at("table", {V, M}, {v, m}); };
  Nf model = table(a.at(ids, {b})), local = a.div(V, t);
  same(sum(V, [&](Nf v) { return a.mul(a.eq0(a.sub(a.at(ids, {b}), v)), table(v)); }), model);
  // Masked local lookup: clamp is written as an index that is only used where the mask holds.
  Nf masked = sum(t, [&](Nf c) {
    Nf j = a.sub(a.at(ids, {b}), a.mul(c, local));
    return a.mul(a.in_range(j, local), table(a.add(a.mul(c, local), j)));
  });
  equal(masked, model);
  Nf wrong = sum(t, [&](Nf c) {
    Nf j = a.sub(a.at(ids, {b}), a.mul(c, local));
    return a.mul(a.in_range(j, local), table(j));
  });
  differ(wrong, model);
  // Scatter-add gradient, rows sharded.
  Var c_ = a.fresh(t, "c"), j_ = a.fresh(local, "j"), v_ = a.fresh(V, "v");
  auto grad = [&](Nf v) {
    return sum(B, [&](Nf i) {
      return a.mul(a.eq0(a.sub(a.at(ids, {i}), v)), at("g", {B, M}, {i, m}));
    });
  };
  Nf row_v = a.add(a.mul(a.var(c_), local), a.var(j_));
  same(a.substitute(grad(a.var(v_)), {{v_, row_v}}), grad(row_v));
}

TEST_F(Table, FusedAdamW) {
  Nf eps = at("eps", {}, {}), b1 = at("b1", {}, {}), b2 = at("b2", {}, {});
  Nf lr = at("lr", {}, {}), wd = at("wd", {}, {}), g = at("g", {M}, {m}), p = at("p", {M}, {m});
  a.declare_positive(a.sub(n(1), b1)), a.declare_positive(a.sub(n(1), b2)), a.declare_positive(eps);
  auto moment = [&](Nf beta, const char* name, Nf value) {
    return a.add(a.mul(beta, at(name, {M}, {m})), a.mul(a.sub(n(1), beta), value));
  };
  Nf mu = moment(b1, "mu", g), nu = moment(b2, "nu", a.mul(g, g));
  Nf c1 = a.sub(n(1), b1), c2 = a.sub(n(1), b2);
  Nf model = a.sub(
      p, a.mul(lr, a.add(a.div(a.div(mu, c1), a.add(sqrt(a.div(nu, c2)), eps)), a.mul(wd, p))));
  Nf step = a.div(lr, c1);
  Nf fused = a.sub(a.mul(a.sub(n(1), a.mul(lr, wd)), p),
                   a.mul(step, a.div(mu, a.add(a.div(sqrt(nu), sqrt(c2)), eps))));
  equal(fused, model);
  Nf eps_inside = a.sub(a.mul(a.sub(n(1), a.mul(lr, wd)), p),
                        a.mul(step, a.div(mu, sqrt(a.add(a.div(nu, c2), eps)))));
  differ(eps_inside, model);
}

TEST_F(Table, GlobalNormClip) {
  auto square = [&](Nf k) { return a.pow(at("g", {M}, {k}), 2); };
  Nf model = sqrt(sum(M, square)), local = a.div(M, t);
  same(sqrt(sharded_sum(M, t, square)), model);
  Nf late = sum(t, [&](Nf c) {
    return sqrt(sum(local, [&](Nf j) { return square(a.add(a.mul(c, local), j)); }));
  });
  differ(late, model);
}

TEST_F(Table, OpaqueOperatorsAndScans) {
  auto order = [&](Nf i, bool negate) {
    Var k = a.fresh(V, "k");
    Nf value = row(a.var(k));
    return a.opaque("argsort", {{{k}, negate ? a.neg(value) : value}}, {i},
                    {true, false, V, false});
  };
  Var v_ = a.fresh(V, "v");
  same(order(a.var(v_), false), order(a.var(v_), false));
  differ(order(a.var(v_), true), order(a.var(v_), false));
  // A scan whose body's parameter is substituted agrees with the scan built there.
  auto scan = [&](Nf i, Nf j) {
    Var s = a.fresh(B, "s");
    return a.opaque("scan", {{{s}, silu(x(a.var(s), j))}}, {i});
  };
  same(a.substitute(scan(b, m), {{m_, n(3)}}), scan(b, n(3)));
}

}  // namespace
}  // namespace shardproof::algebra
