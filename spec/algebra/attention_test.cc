// Attention with grouped heads, RoPE by concat, causal masks, rings; a whole layer, and its cost.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "spec/algebra/builder.h"

namespace shardproof::algebra {
namespace {

struct Attention : testing::Test, Builder {
  Nf L = size("L"), M = size("M"), G = size("G"), R = size("R"), D = size("D"), F = size("F"),
     t = size("t");
  Nf half = a.mul(D, n({1, 2}));
  Var l_ = a.fresh(L, "l"), m_ = a.fresh(M, "m");
  Nf l = a.var(l_), m = a.var(m_);
  using Row = std::function<Nf(Nf)>;         // position -> value
  using Matrix = std::function<Nf(Nf, Nf)>;  // position, feature -> value

  Attention() {
    a.declare_range(half), a.declare_range(a.div(G, t)), a.declare_range(a.div(F, t));
    a.declare_range(a.div(L, t)), a.declare_range(a.div(M, t)), a.declare_range(a.div(D, t));
    a.declare_positive(at("eps", {}, {}));
  }
  void same(Nf x, Nf y) { EXPECT_EQ(x, y) << a.show(x) << "\n--- and ---\n" << a.show(y); }
  void differ(Nf x, Nf y) { EXPECT_EQ(compare(a, x, y), Comparison::not_shown) << a.show(x); }

  Nf concat(Nf i, Nf cut, const Row& low, const Row& high) {
    Nf first = a.le0(a.add(a.sub(i, cut), n(1)));
    return a.where(first, low(i), high(a.sub(i, cut)));
  }
  /// x cos + concat(-x[half:], x[:half]) sin.
  Nf rope(Nf pos, Nf d, const Row& x) {
    Nf turned = concat(
        d, half, [&](Nf u) { return a.neg(x(a.add(u, half))); }, x);
    return a.add(a.mul(x(d), at("cos", {L, D}, {pos, d})),
                 a.mul(turned, at("sin", {L, D}, {pos, d})));
  }
  /// The same with (part, u) digits and an explicit case for each half.
  Nf rope_by_halves(Nf pos, Nf d, const Row& x) {
    Nf low = a.le0(a.add(a.sub(d, half), n(1)));
    Nf c = at("cos", {L, D}, {pos, d}), s = at("sin", {L, D}, {pos, d});
    Nf first = a.sub(a.mul(x(d), c), a.mul(x(a.add(d, half)), s));
    Nf second = a.add(a.mul(x(d), c), a.mul(x(a.sub(d, half)), s));
    return a.add(a.mul(low, first), a.mul(a.sub(n(1), low), second));
  }
  Nf project(const char* w, const Matrix& x, Nf pos, Nf head, Nf heads, Nf d) {
    return sum(
        M,
        [&](Nf k) {
          return a.mul(x(pos, k), at(w, {M, heads, D}, {k, head, d}));
        },
        "m");
  }
  Nf score(const Matrix& x, Nf q, Nf k, Nf g, Nf r, bool halves) {
    auto turn = [&](Nf pos, Nf d, const Row& f) {
      return halves ? rope_by_halves(pos, d, f) : rope(pos, d, f);
    };
    Nf head = a.add(a.mul(g, R), r);
    Nf s = sum(
        D,
        [&](Nf d) {
          return a.mul(turn(q, d, [&](Nf e) { return project("wq", x, q, head, a.mul(G, R), e); }),
                       turn(k, d, [&](Nf e) { return project("wk", x, k, g, G, e); }));
        },
        "d");
    return a.where(a.le0(a.sub(k, q)), a.mul(s, a.pow(D, {-1, 2})), a.minus_infinity());
  }
  Nf head_out(const Matrix& x, Nf q, Nf g, Nf r, Nf d, bool plan) {
    auto s = [&](Nf k) { return score(x, q, k, g, r, plan); };
    Nf offset = plan ? max(L, s) : n(0);
    auto e = [&](Nf k) { return exp(a.sub(s(k), offset)); };
    Nf z = sum(L, e, "k");
    return sum(
        L, [&](Nf k) { return a.mul(a.div(e(k), z), project("wv", x, k, g, G, d)); }, "k");
  }
  Nf attention(const Matrix& x, Nf q, Nf out, bool plan) {
    auto of_group = [&](Nf g) {
      return sum(R, [&](Nf r) {
        return sum(D, [&](Nf d) {
          return a.mul(head_out(x, q, g, r, d, plan),
                       at("wo", {a.mul(G, R), D, M}, {a.add(a.mul(g, R), r), d, out}));
        });
      });
    };
    return plan ? sharded_sum(G, t, of_group) : sum(G, of_group, "g");
  }
  Matrix norm(const char* gain, const Matrix& x, bool plan) {
    return [=, this](Nf pos, Nf k) {
      auto square = [&](Nf i) { return a.pow(x(pos, i), 2); };
      Nf mean = a.div(plan ? sharded_sum(M, t, square) : sum(M, square), M);
      return a.mul(a.div(x(pos, k), sqrt(a.add(mean, at("eps", {}, {})))), at(gain, {M}, {k}));
    };
  }
  Nf swiglu(const Matrix& x, Nf pos, Nf out, bool plan) {
    auto of = [&](Nf f) {
      Nf g = sum(M, [&](Nf k) { return a.mul(x(pos, k), at("wg", {M, F}, {k, f})); });
      Nf u = sum(M, [&](Nf k) { return a.mul(x(pos, k), at("wu", {M, F}, {k, f})); });
      return a.mul(a.mul(silu(g), u), at("wd", {F, M}, {f, out}));
    };
    return plan ? sharded_sum(F, t, of) : sum(F, of, "f");
  }
  /// Abbreviates a function of (position, feature): computed once, then substituted.
  Matrix once(const Matrix& f) {
    Var i = a.fresh(L, "i"), k = a.fresh(M, "k");
    Nf body = f(a.var(i), a.var(k));
    return [=, this](Nf pos, Nf feature) { return a.substitute(body, {{i, pos}, {k, feature}}); };
  }
  Matrix input() {
    return [this](Nf i, Nf k) { return at("x", {L, M}, {i, k}); };
  }
  Matrix layer(const Matrix& x, bool plan) {
    Matrix n1 = once(norm("g1", x, plan));
    Matrix x1 = once([&](Nf i, Nf k) { return a.add(x(i, k), attention(n1, i, k, plan)); });
    Matrix n2 = once(norm("g2", x1, plan));
    return once([&](Nf i, Nf k) { return a.add(x1(i, k), swiglu(n2, i, k, plan)); });
  }
};

TEST_F(Attention, ReadOfConcatIsDecidedByRanges) {
  Nf A = size("A"), B = size("B");
  Var u_ = a.fresh(A, "u"), v_ = a.fresh(B, "v"), w_ = a.fresh(a.add(A, B), "w");
  Row low = [&](Nf i) { return at("a", {A}, {i}); }, high = [&](Nf i) { return at("b", {B}, {i}); };
  same(concat(a.var(u_), A, low, high), low(a.var(u_)));
  same(concat(a.add(a.var(v_), A), A, low, high), high(a.var(v_)));
  same(a.sum({w_}, concat(a.var(w_), A, low, high)), a.add(sum(A, low), sum(B, high)));
  // Three pieces, nested either way.
  Nf C = size("C");
  Row last = [&](Nf i) { return at("c", {C}, {i}); };
  Var z_ = a.fresh(a.add(a.add(A, B), C), "z");
  Nf left = concat(
      a.var(z_), a.add(A, B), [&](Nf i) { return concat(i, A, low, high); }, last);
  Nf right = concat(a.var(z_), A, low, [&](Nf i) { return concat(i, B, high, last); });
  same(left, right);
}

TEST_F(Attention, RopeByConcatEqualsRopeByHalves) {
  Var d_ = a.fresh(D, "d");
  Row x = [&](Nf i) { return at("q", {D}, {i}); };
  same(rope(l, a.var(d_), x), rope_by_halves(l, a.var(d_), x));
  Row wrong = [&](Nf i) { return a.neg(at("q", {D}, {i})); };
  differ(rope(l, a.var(d_), wrong), rope_by_halves(l, a.var(d_), x));
}

TEST_F(Attention, RingWithRescaling) {
  Nf local = a.div(L, t);
  Row s = [&](Nf k) { return at("s", {L, L}, {l, k}); };
  Row v = [&](Nf k) { return at("v", {L}, {k}); };
  Nf model = a.div(sum(L, [&](Nf k) { return a.mul(exp(s(k)), v(k)); }),
                   sum(L, [&](Nf k) { return exp(s(k)); }));
  auto part = [&](Nf c, const Row& weight) {
    Nf top = max(local, [&](Nf j) { return s(a.add(a.mul(c, local), j)); });
    return sum(local, [&](Nf j) {
      Nf k = a.add(a.mul(c, local), j);
      return a.mul(exp(a.sub(s(k), top)), weight(k));
    });
  };
  auto ring = [&](bool rescale) {
    auto top = [&](Nf c) { return max(local, [&](Nf j) { return s(a.add(a.mul(c, local), j)); }); };
    Nf all = max(t, top);
    auto total = [&](const Row& weight) {
      return sum(t, [&](Nf c) {
        Nf scale = rescale ? exp(a.sub(top(c), all)) : n(1);
        return a.mul(scale, part(c, weight));
      });
    };
    return a.div(total(v), total([&](Nf) { return n(1); }));
  };
  same(ring(true), model);
  differ(ring(false), model);
}

TEST_F(Attention, GroupedHeadsSharded) {
  Matrix x = [this](Nf i, Nf k) { return at("x", {L, M}, {i, k}); };
  same(attention(x, l, m, true), attention(x, l, m, false));
}

TEST_F(Attention, WholeLayer) {
  auto start = std::chrono::steady_clock::now();
  Nf model = layer(input(), false)(l, m);
  auto middle = std::chrono::steady_clock::now();
  Nf plan = layer(input(), true)(l, m);
  auto end = std::chrono::steady_clock::now();
  same(plan, model);
  auto ms = [](auto d) {
    return std::to_string(std::chrono::duration<double, std::milli>(d).count());
  };
  RecordProperty("model_ms", ms(middle - start));
  RecordProperty("plan_ms", ms(end - middle));
  EXPECT_LT(a.steps(), 2000000);
}

TEST_F(Attention, TwoLayersWithoutACut) {
  Matrix model = layer(layer(input(), false), false), plan = layer(layer(input(), true), true);
  same(plan(l, m), model(l, m));
  EXPECT_LT(a.steps(), 2000000);
}

}  // namespace
}  // namespace shardproof::algebra
