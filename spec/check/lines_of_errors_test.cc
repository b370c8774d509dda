// A wrong line of a sharded Llama layer is reported at itself, although plan and model give no
// value the same name.
#include <gtest/gtest.h>

#include "spec/check/expect_line.h"

namespace shardproof {
namespace lines_of_errors_test {

const char* const layer = R"(
mesh d t
dim B L M F Q K D
dim kv = 2
dim S T = L

fn layer(x: f32[B L M], ln1 ln2: f32[M], w_q w_o: f32[M Q K D], w_kv: f32[kv M K D], w_gate w_up w_down: f32[M F], mask: bool[B S T])
        -> f32[B L M] {
    nx = rms_norm("B L M; M", x) * ln1
    q  = rope("B L Q K D; L D", einsum("B L M, M Q K D -> B L Q K D", nx, w_q), iota("L"))
    kv = einsum("B L M, kv M K D -> kv B L K D", nx, w_kv)
    k  = rope("B L K D; L D", read("[kv] B L K D -> B L K D", kv, at=0), iota("L"))
    v  = read("[kv] B L K D -> B L K D", kv, at=1)
    o  = attention("B S Q K D, B T K D, B T K D; S T Q D", q, k, v, mask, 1.0)
    h  = x + einsum("B L Q K D, M Q K D -> B L M", o, w_o)
    ny = rms_norm("B L M; M", h) * ln2
    gate = einsum("B L M, M F -> B L F", ny, w_gate)
    up   = einsum("B L M, M F -> B L F", ny, w_up)
    return h + einsum("B L F, M F -> B L M", silu(gate) * up, w_down)
}
plan layer_t implements layer(x: f32[B/d L/t M], ln1 ln2: f32[M], w_q w_o: f32[M Q K/t D], w_kv: f32[kv M K/t D],
                              w_gate w_up w_down: f32[M F/t], mask: bool[B/d S T]) -> f32[B/d L/t M] {
    a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1)
    q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_q)
    kv = einsum("B/d L M, kv M K/t D -> kv B/d L K/t D", a, w_kv)
    k0 = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=0)
    vv = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=1)
    qq = rope("B/d L Q K/t D; L D", q0, iota("L"))
    kk = rope("B/d L K/t D; L D", k0, iota("L"))
    s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk)
    p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10))
    ao = einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, vv)
    po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_o)
    r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po)
    b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln2)
    g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate)
    u  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_up)
    hh = silu(g) * u
    y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down)
    return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y)
}
)";

TEST(LinesOfErrors, ARightLayerHasNone) { EXPECT_TRUE(lines_of_errors(layer).empty()); }

const std::vector<Change> changes = {
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln2))"},
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x)))"},
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", x * ln1))"},
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x * ln1)))"},
    {R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_q))",
     R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_o))"},
    {R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_q))",
     R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", all_gather("B/d L/t M -> B/d L M", x), w_q))"},
    {R"(k0 = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=0))",
     R"(k0 = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=1))"},
    {R"(vv = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=1))",
     R"(vv = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=0))"},
    {R"(qq = rope("B/d L Q K/t D; L D", q0, iota("L")))",
     R"(qq = rope("B/d L Q K/t D; L D", q0, iota("L") + 1))"},
    {R"(kk = rope("B/d L K/t D; L D", k0, iota("L")))",
     R"(kk = rope("B/d L K/t D; L D", vv, iota("L")))"},
    {R"(kk = rope("B/d L K/t D; L D", k0, iota("L")))",
     R"(kk = rope("B/d L K/t D; L D", k0, iota("L"), base=500000.0))"},
    {R"(s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk))",
     R"(s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk) * 0.125)"},
    {R"(s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk))",
     R"(s  = einsum("B/d T Q K/t D, B/d S K/t D -> B/d S T Q K/t", qq, kk))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, 0)))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; T", s))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; T", where(mask, -1e10, s)))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; S", where(mask, s, -1e10)))"},
    {R"(ao = einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, vv))",
     R"(ao = einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, kk))"},
    {R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_o))",
     R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_q))"},
    {R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_o))",
     R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", qq, w_o))"},
    {R"(r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))",
     R"(r  = psum_scatter("B/d L M {U_t} -> B/d L/t M", po))"},
    {R"(r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))",
     R"(r  = x - psum_scatter("B/d L M {U_t} -> B/d L/t M", po))"},
    {R"(r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))",
     R"(r  = 2 * x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))"},
    {R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln2))",
     R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln2))"},
    {R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln2))",
     R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln1))"},
    {R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate))",
     R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_up))"},
    {R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate))",
     R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", a, w_gate))"},
    {R"(u  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_up))",
     R"(u  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate))"},
    {R"(hh = silu(g) * u)", R"(hh = g * u)"},
    {R"(hh = silu(g) * u)", R"(hh = silu(u) * g)"},
    {R"(hh = silu(g) * u)", R"(hh = silu(g * u))"},
    {R"(hh = silu(g) * u)", R"(hh = gelu(g) * u)"},
    {R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down))",
     R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_up))"},
    {R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down))",
     R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down) / |t|)"},
    {R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))",
     R"(return psum_scatter("B/d L M {U_t} -> B/d L/t M", y))"},
    {R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))",
     R"(return x + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))"},
    {R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))",
     R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y) * 2)"},
};

class LinesOfErrorsOf : public testing::TestWithParam<Change> {};

TEST_P(LinesOfErrorsOf, AWrongLineOfALayerAreAtItself) { expect_own_line(layer, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Changes, LinesOfErrorsOf, testing::ValuesIn(changes));

/// Backwards written by hand: values of theirs are gradients of the model's values.
const char* const backward_of_mlp = R"(
mesh d t
dim B M F
fn mlp(x: f32[B M], a b: f32[M F]) -> f32[B M] {
    h = einsum("B M, M F -> B F", x, a)
    y = tanh(h)
    return einsum("B F, M F -> B M", y, b)
}
plan mlp_t implements mlp(x: f32[B/d M], a b: f32[M F/t]) -> f32[B/d M]{U_t} {
    h = einsum("B/d M, M F/t -> B/d F/t", x, a)
    y = save(tanh(h))
    return einsum("B/d F/t, M F/t -> B/d M {U_t}", y, b)
}
plan mlp_back implements grad(mlp) after mlp_t(x: f32[B/d M], a b: f32[M F/t], g: f32[B/d M]; y: f32[B/d F/t])
        -> (f32[B/d M]{U_t}, f32[M F/t]{U_d}, f32[M F/t]{U_d}) {
    gb = einsum("B/d M, B/d F/t -> M F/t {U_d}", g, y)
    gy = einsum("B/d M, M F/t -> B/d F/t", g, b)
    gh = gy * (1 - y * y)
    ga = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, gh)
    gx = einsum("B/d F/t, M F/t -> B/d M {U_t}", gh, a)
    return gx, ga, gb
}
)";
const std::vector<Change> changes_of_mlp = {
    {R"(gy = einsum("B/d M, M F/t -> B/d F/t", g, b))",
     R"(gy = einsum("B/d M, M F/t -> B/d F/t", g, a))"},
    {R"(gh = gy * (1 - y * y))", R"(gh = gy * (1 - y))"},
    {R"(ga = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, gh))",
     R"(ga = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, gy))"},
    {R"(gx = einsum("B/d F/t, M F/t -> B/d M {U_t}", gh, a))",
     R"(gx = einsum("B/d F/t, M F/t -> B/d M {U_t}", gh, b))"},
    {R"(gb = einsum("B/d M, B/d F/t -> M F/t {U_d}", g, y))",
     R"(gb = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, y))"},
};
/// relu(relu(h)) is relu(h): another h would be right for all that reads it.
const char* const backward_of_relu = R"(
mesh d t
dim B M F
fn mlp(x: f32[B M], a b: f32[M F]) -> f32[B M] {
    h = einsum("B M, M F -> B F", x, a)
    return einsum("B F, M F -> B M", relu(h), b)
}
plan mlp_back implements grad(mlp)(x: f32[B/d M], a b: f32[M F/t], g: f32[B/d M])
        -> (f32[B/d M]{U_t}, f32[M F/t]{U_d}, f32[M F/t]{U_d}) {
    h = einsum("B/d M, M F/t -> B/d F/t", x, a)
    y = relu(h)
    gb = einsum("B/d M, B/d F/t -> M F/t {U_d}", g, y)
    gy = einsum("B/d M, M F/t -> B/d F/t", g, b)
    gh = where(h > 0, gy, 0)
    ga = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, gh)
    gx = einsum("B/d F/t, M F/t -> B/d M {U_t}", gh, a)
    return gx, ga, gb
}
)";
const std::vector<Change> changes_of_relu = {
    {R"(gb = einsum("B/d M, B/d F/t -> M F/t {U_d}", g, y))",
     R"(gb = einsum("B/d M, B/d F/t -> M F/t {U_d}", g, h))"},
    {R"(gh = where(h > 0, gy, 0))", R"(gh = where(y > 1, gy, 0))"},
    {R"(ga = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, gh))",
     R"(ga = einsum("B/d M, B/d F/t -> M F/t {U_d}", x, gy))"},
    {R"(gx = einsum("B/d F/t, M F/t -> B/d M {U_t}", gh, a))",
     R"(gx = einsum("B/d F/t, M F/t -> B/d M {U_t}", gy, a))"},
};
const char* const backwards_of_norm_and_loss = R"(
mesh d
dim B M V
fn norm(x: f32[B M], w: f32[M]) -> f32[B M] {
    s = sum("B M -> B", x * x) / |M|
    r = rsqrt(s + 1e-5)
    return x * r * w
}
plan norm_d implements norm(x: f32[B/d M], w: f32[M]) -> f32[B/d M] {
    s = sum("B/d M -> B/d", x * x) / |M|
    r = save(rsqrt(s + 1e-5))
    return x * r * w
}
plan norm_back implements grad(norm) after norm_d(x: f32[B/d M], w: f32[M], g: f32[B/d M]; r: f32[B/d])
        -> (f32[B/d M], f32[M]{U_d}) {
    n = x * r
    gw = sum("B/d M -> M {U_d}", g * n)
    gn = g * w
    dot = sum("B/d M -> B/d", gn * n) / |M|
    gx = r * (gn - n * dot)
    return gx, gw
}
fn loss(x: f32[B M], u: f32[M V], i: i32[B]) -> f32[] {
    assume 0 <= i < |V|
    z = einsum("B M, M V -> B V", x, u)
    e = exp(z)
    p = log(sum("B V -> B", e))
    hot = f32(expand("V -> B V", iota("V")) == expand("B -> B V", i))
    return sum("B ->", p - sum("B V -> B", z * hot)) / |B|
}
plan loss_d implements loss(x: f32[B/d M], u: f32[M V], i: i32[B/d]) -> f32[]{U_d} {
    z = einsum("B/d M, M V -> B/d V", x, u)
    e = save(exp(z))
    q = save(sum("B/d V -> B/d", e))
    hot = save(f32(expand("V -> B/d V", iota("V")) == expand("B/d -> B/d V", i)))
    return sum("B/d -> {U_d}", log(q) - sum("B/d V -> B/d", z * hot)) / |B|
}
plan loss_back implements grad(loss) after loss_d(x: f32[B/d M], u: f32[M V], i: i32[B/d], g: f32[]; e: f32[B/d V], q: f32[B/d], hot: f32[B/d V])
        -> (f32[B/d M], f32[M V]{U_d}) {
    p = e / q
    gz = expand("-> B/d V", g) * (p - hot) / |B|
    gx = einsum("B/d V, M V -> B/d M", gz, u)
    gu = einsum("B/d M, B/d V -> M V {U_d}", x, gz)
    return gx, gu
}
)";
const std::vector<Change> changes_of_norm_and_loss = {
    {R"(gn = g * w)", R"(gn = g / w)"},
    {R"(gw = sum("B/d M -> M {U_d}", g * n))", R"(gw = sum("B/d M -> M {U_d}", g * x))"},
    {R"(gx = r * (gn - n * dot))", R"(gx = gn - n * dot)"},
    {R"(gz = expand("-> B/d V", g) * (p - hot) / |B|)",
     R"(gz = expand("-> B/d V", g) * (p - hot))"},
    {R"(gu = einsum("B/d M, B/d V -> M V {U_d}", x, gz))",
     R"(gu = einsum("B/d M, B/d V -> M V {U_d}", x, p - hot))"},
};

TEST(LinesOfErrors, RightBackwardsHaveNone) {
  EXPECT_TRUE(lines_of_errors(backward_of_mlp).empty());
  EXPECT_TRUE(lines_of_errors(backward_of_relu).empty());
  EXPECT_TRUE(lines_of_errors(backwards_of_norm_and_loss).empty());
}
TEST(LinesOfErrors, AWrongLineOfABackwardIsReportedAtItself) {
  for (const Change& change : changes_of_mlp) expect_own_line(backward_of_mlp, change);
  for (const Change& change : changes_of_relu) expect_own_line(backward_of_relu, change);
  for (const Change& change : changes_of_norm_and_loss)
    expect_own_line(backwards_of_norm_and_loss, change);
}

/// With `gh` for `gy` in its own line a right result would be wrong.
TEST(LinesOfErrors, AChangeLeavesRightResultsRight) {
  std::string text = backward_of_mlp;
  text.replace(text.rfind("x, gh)"), 6, "x, gy)");
  const std::vector<Diagnostic> errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].label, "the numbers are right with `gh` in place of `gy`");
}

TEST(LinesOfErrors, ATermLeftOutIsAddedInTheSumOfTheModel) {
  std::string text = layer;
  text.replace(text.rfind("r  = x + "), 9, "r  = ");
  expect_fix(text, "E0403", "`(..) + x`");
}

/// Where |d| is |G|, a mean that is |d| times too large is the sum of the model.
TEST(LinesOfErrors, TheSizeOfAnAxisThatIsTheSizeOfADim) {
  const char* const standardised = R"(
mesh d t
dim G L
fn f(r: f32[G], x: f32[G L]) -> f32[] {
    mean = sum("G ->", r) / |G|
    e = r - mean
    a = e / (sqrt(sum("G ->", e * e) / |G|) + 0.0001)
    return sum("G L ->", expand("G -> G L", a) * x) / |G|
}
plan f_d implements f(r: f32[G/d], x: f32[G/d L/t]) -> f32[]{U_d U_t} {
    s1 = all_reduce("{U_d} ->", sum("G/d -> {U_d}", r))
    s2 = all_reduce("{U_d} ->", sum("G/d -> {U_d}", r * r))
    mean = s1 / |G|
    std = sqrt(s2 / |G| - mean * mean)
    a = (r - mean) / (std + 0.0001)
    return sum("G/d L/t -> {U_d U_t}", expand("G/d -> G/d L/t", a) * x) / |G|
}
)";
  EXPECT_TRUE(lines_of_errors(standardised).empty());
  expect_own_line(standardised, {R"(sum("G/d -> {U_d}", r)))", R"(sum("G/d -> {U_d}", r)) * |d|)"});
}

}  // namespace lines_of_errors_test
}  // namespace shardproof
