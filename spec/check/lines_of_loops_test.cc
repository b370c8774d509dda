// A wrong line of a loop, or of what follows it, is reported at itself: a small change of it makes
// the results right, where no value of the model stands for it.
#include <gtest/gtest.h>

#include "spec/check/expect_line.h"

namespace shardproof {
namespace lines_of_loops_test {

const char* const attention = R"(
mesh c
dim B L Q K D
dim S T = L
fn causal(q: f32[B S Q K D], k v: f32[B T K D]) -> f32[B S Q K D] {
    seen = iota("S T; T") <= iota("S T; S")
    return attention("B S Q K D, B T K D, B T K D; S T Q D", q, k, v, seen, 1.0)
}
plan causal_ring implements causal(q: f32[B S/c Q K D], k v: f32[B T/c K D]) -> f32[B S/c Q K D] {
    o, z, _m = ring b over T/c as W, o0: f32[B S/c Q K D] = zeros(f32[B S/c Q K D]),
            z0: f32[B S/c Q K] = zeros(f32[B S/c Q K]), m0: f32[B S/c Q K] = zeros(f32[B S/c Q K]) - 1e30 {
        seen = iota("S/c W; W") + b * |W| <= iota("S/c W; S")
        s = where(seen, einsum("B S/c Q K D, B W K D -> B S/c W Q K", q, k[b]), -1e10)
        m1 = maximum(m0, max("B S/c W Q K -> B S/c Q K", s))
        p = exp(s - m1)
        a = exp(m0 - m1)
        next o0 * a + einsum("B S/c W Q K, B W K D -> B S/c Q K D", p, v[b]),
             z0 * a + sum("B S/c W Q K -> B S/c Q K", p), m1
    }
    return o / z
}
)";
const std::vector<Change> changes_of_attention = {
    {"next o0 * a", "next o0"},
    {"z0 * a + sum", "z0 + sum"},
    {"return o / z", "return o"},
    {"return o / z", "return o / z / z"},
    {"a = exp(m0 - m1)", "a = exp(m1 - m0)"},
    {"p, v[b])", "p, k[b])"},
    {R"(s = where(seen, einsum("B S/c Q K D, B W K D -> B S/c W Q K", q, k[b]), -1e10))",
     R"(s = einsum("B S/c Q K D, B W K D -> B S/c W Q K", q, k[b]))"},
    {" + b * |W| <= iota", " <= iota"},
};
const char* const linear = R"(
mesh c
dim L D E
dim S T = L
fn lin(q: f32[S D], k: f32[T D], v: f32[T E]) -> f32[S E] {
    s = einsum("S D, T D -> S T", exp(q), exp(k))
    seen = iota("S T; T") <= iota("S T; S")
    w = where(seen, s, 0)
    return einsum("S T, T E -> S E", w, v) / sum("S T -> S", w)
}
plan lin_ring implements lin(q: f32[S/c D], k: f32[T/c D], v: f32[T/c E]) -> f32[S/c E] {
    eq = exp(q)
    o, z = ring b over T/c as W, o0: f32[S/c E] = zeros(f32[S/c E]), z0: f32[S/c] = zeros(f32[S/c]) {
        seen = iota("S/c W; W") + b * |W| <= iota("S/c W; S")
        s = einsum("S/c D, W D -> S/c W", eq, exp(k[b]))
        w = where(seen, s, 0)
        next o0 + einsum("S/c W, W E -> S/c E", w, v[b]),
             z0 + sum("S/c W -> S/c", w)
    }
    return o / z
}
)";
const std::vector<Change> changes_of_linear = {
    {"return o / z", "return o"},
    {R"(S/c", w))", R"(S/c", s))"},
    {R"(S/c E", w, v[b]))", R"(S/c E", s, v[b]))"},
    {"exp(k[b])", "k[b]"},
};
const char* const feed_forward = R"(
mesh c
dim L M F
fn ffn(x: f32[L M], a b: f32[M F]) -> f32[L M] {
    h = einsum("L M, M F -> L F", x, a)
    return x + einsum("L F, M F -> L M", silu(h) * h, b)
}
plan ffn_ring implements ffn(x: f32[L/c M], a b: f32[M F/c]) -> f32[L/c M] {
    y = ring d over L/c as W {
        h = einsum("W M, M F/c -> W F/c", x[d], a)
        u = silu(h) * h
        emit einsum("W F/c, M F/c -> W M {U_c}", u, b)
    }
    return x + y
}
plan ffn_weights implements ffn(x: f32[L/c M], a b: f32[M F/c]) -> f32[L/c M] {
    y = ring d over F/c as W, y0: f32[L/c M] = x {
        h = einsum("L/c M, M W -> L/c W", x, a[d])
        u = silu(h) * h
        next y0 + einsum("L/c W, M W -> L/c M", u, b[d])
    }
    return y
}
)";
const std::vector<Change> changes_of_feed_forward = {
    {"return x + y", "return y"},
    {"u, b[d])", "u, a[d])"},
    {"u = silu(h) * h\n        next", "u = silu(h) * silu(h)\n        next"},
};
const char* const product = R"(
mesh c
dim L M F
fn f(x: f32[L M], w: f32[M F]) -> f32[L F] { return einsum("L M, M F -> L F", x, w) }
plan ring_matmul implements f(x: f32[L/c M], w: f32[M F/c]) -> f32[L F/c] {
    y = ring b over L/c as W, y0: f32[L F/c] = zeros(f32[L F/c]) {
        next write("[L] F/c, W F/c -> L F/c", y0, einsum("W M, M F/c -> W F/c", x[b], w), at=b * |W|)
    }
    return y
}
)";
const std::vector<Change> changes_of_product = {
    {"x[b], w), at=", "x[b] * x[b], w), at="},
    {"x[b], w), at=", "x[b], w) / |c|, at="},
    {"at=b * |W|", "at=0 * |W|"},
};
/// Without a loop: of what is returned.
const char* const step = R"(
mesh d t
dim B M F
record W { ln: f32[M]  a b: f32[M F]  s: f32[M] }
layout WS of W { ln: f32[M]  a b: f32[M F/t]  s: f32[M] }
fn step(w: W, g: W, lr: f32[]) -> W {
    return w with { ln = w.ln - lr * g.ln, a = w.a - lr * g.a, b = w.b - lr * g.b * 0.5, s = w.s - lr * g.s }
}
plan step_t implements step(w: WS, g: WS, lr: f32[]) -> WS {
    ln = w.ln - lr * g.ln
    a  = w.a - lr * g.a
    b  = w.b - lr * g.b / 2
    s  = w.s - lr * g.s
    return w with { ln = ln, a = a, b = b, s = s }
}
)";
const std::vector<Change> changes_of_step = {
    {"a = a, b = b", "a = b, b = a"},
    {"b = b, s = s", "b = b"},
};
const char* const gate = R"(
mesh d
dim M F E
fn gate(x: f32[M F], w: f32[F E]) -> f32[M E] {
    p = softmax("M E; E", einsum("M F, F E -> M E", x, w))
    k = p * p
    return k / sum("M E -> M", k)
}
plan gate_d implements gate(x: f32[M/d F], w: f32[F E]) -> f32[M/d E] {
    l = einsum("M/d F, F E -> M/d E", x, w)
    p = softmax("M/d E; E", l)
    k = p * p
    z = sum("M/d E -> M/d", k)
    return k / z
}
)";
const std::vector<Change> changes_of_gate = {
    {"return k / z", "return k"},
    {R"(z = sum("M/d E -> M/d", k))", R"(z = sum("M/d E -> M/d", p))"},
};

TEST(LinesOfLoops, RightOnesHaveNone) {
  for (const char* text : {attention, linear, feed_forward, product, step, gate})
    EXPECT_TRUE(lines_of_errors(text).empty());
}
TEST(LinesOfLoops, AWrongLineIsReportedAtItself) {
  for (const Change& change : changes_of_attention) expect_own_line(attention, change);
  for (const Change& change : changes_of_linear) expect_own_line(linear, change);
  for (const Change& change : changes_of_feed_forward) expect_own_line(feed_forward, change);
  for (const Change& change : changes_of_product) expect_own_line(product, change);
  for (const Change& change : changes_of_step) expect_own_line(step, change);
  for (const Change& change : changes_of_gate) expect_own_line(gate, change);
}

/// A mask is not meant for another one, though both together are right as long as one is all true.
TEST(LinesOfLoops, AConditionThatIsLeftOut) {
  const char* const masks = R"(
mesh d t
dim B L K Q D
dim S T = L
fn att(q: f32[B S Q K D], k v: f32[B T K D], doc: i32[B L]) -> f32[B S Q K D] {
    same = expand("B S -> B S T", doc) == expand("B T -> B S T", doc)
    near = iota("B S T; S") - iota("B S T; T") < 128
    seen = same and iota("B S T; T") <= iota("B S T; S") and near
    s = einsum("B S Q K D, B T K D -> B S T Q K", q, k) * rsqrt(|D|)
    p = softmax("B S T Q K; T", where(seen, s, -1e10))
    return einsum("B S T Q K, B T K D -> B S Q K D", p, v)
}
plan att_t implements att(q: f32[B/d S Q K/t D], k v: f32[B/d T K/t D], doc: i32[B/d L]) -> f32[B/d S Q K/t D] {
    same = expand("B/d S -> B/d S T", doc) == expand("B/d T -> B/d S T", doc)
    near = iota("B/d S T; S") - iota("B/d S T; T") < 128
    past = iota("B/d S T; T") <= iota("B/d S T; S")
    seen = same and past and near
    s = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", q, k) * rsqrt(|D|)
    p = softmax("B/d S T Q K/t; T", where(seen, s, -1e10))
    return einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, v)
}
)";
  EXPECT_TRUE(lines_of_errors(masks).empty());
  expect_own_line(masks, {"seen = same and past and near", "seen = past and near"});
}

/// What follows a loop may be wrong where all that the loop computes is the model's.
TEST(LinesOfLoops, TheLineAfterARightRing) {
  const char* const sink = R"(
mesh c
dim L K D
dim S T = L
fn sink(q: f32[S K D], k v: f32[T K D], z: f32[K]) -> f32[S K D] {
    e = exp(einsum("S K D, T K D -> S T K", q, k))
    den = sum("S T K -> S K", e) + expand("K -> S K", exp(z))
    return einsum("S T K, T K D -> S K D", e, v) / den
}
plan sink_ring implements sink(q: f32[S/c K D], k v: f32[T/c K D], z: f32[K]) -> f32[S/c K D] {
    num, den = ring b over T/c as W, n0: f32[S/c K D] = zeros(f32[S/c K D]), d0: f32[S/c K] = zeros(f32[S/c K]) {
        e = exp(einsum("S/c K D, W K D -> S/c W K", q, k[b]))
        next n0 + einsum("S/c W K, W K D -> S/c K D", e, v[b]), d0 + sum("S/c W K -> S/c K", e)
    }
    extra = expand("K -> S/c K", exp(z))
    full = den + extra
    return num / full
}
)";
  EXPECT_TRUE(lines_of_errors(sink).empty());
  expect_own_line(sink, {"full = den + extra", "full = den - extra"});
  expect_own_line(sink, {"full = den + extra", "full = den * extra"});
  std::string product = sink;
  product.replace(product.find("den + extra"), 11, "den * extra");
  expect_fix(product, "E0403", "`+` in place of `*`");
}

/// Without the maximum each of several lines could be changed: none is said to be the one.
TEST(LinesOfLoops, NoChangeIsNamedWhereSeveralAreAsGood) {
  std::string text = attention;
  const std::string from = "p = exp(s - m1)";
  text.replace(text.rfind(from), from.size(), "p = exp(s)");
  const std::vector<Diagnostic> errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].label.find("the numbers are right"), std::string::npos) << errors[0].label;
}

}  // namespace lines_of_loops_test
}  // namespace shardproof
