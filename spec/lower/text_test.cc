// Programs in the notation, with the library: every plan against its model.
#include <gtest/gtest.h>

#include "spec/lower/lower.h"
#include "spec/resolve/resolve.h"

namespace shardproof::lower {
namespace text_test {

const std::string head = "mesh d t\ndim B L M F Q K D V N\ndim S T = L\ndim kv = 2\n";

/// The comparison of the last plan of the text.
Comparison compare(const std::string& text) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const std::string whole = head + text;
  const Resolved r = resolve(
      sources, "test.shard", [&](const std::string&) { return std::optional(whole); }, diagnostics);
  for (const Diagnostic& d : diagnostics) ADD_FAILURE() << d.message;
  EXPECT_FALSE(r.plans.empty());
  if (r.plans.empty() || !diagnostics.empty()) return {};
  const size_t plan = r.plans.back();
  return compare_functions(r.program, plan, *r.program.functions.at(plan).model, {});
}
std::string why(const Comparison& c) {
  return c.unsupported.value_or("") + (c.difference ? c.difference->text : "") + "\n" + c.residue;
}

std::string filled(std::string text, const std::string& gap) {
  return text.replace(text.find('$'), 1, gap);
}

TEST(Text, LayerNormByMoments) {
  const Comparison c = compare(R"(
fn norm(x: f32[B M]) -> f32[B M] { return layer_norm("B M; M", x) }
plan sharded implements norm(x: bf16[B/d M/t]) -> f32[B/d M/t] {
    y  = f32(x)
    mu = all_reduce("B/d {U_t} -> B/d", sum("B/d M/t -> B/d {U_t}", y)) / |M|
    m2 = all_reduce("B/d {U_t} -> B/d", sum("B/d M/t -> B/d {U_t}", y * y)) / |M|
    return (y - mu) * rsqrt(m2 - mu * mu + 1e-5)
}
)");
  EXPECT_TRUE(c.equal) << why(c);
}

/// The results are shown at different levels; what each needs is listed.
TEST(Text, AssumptionsOfEveryResult) {
  const Comparison c = compare(R"(
fn f(x y z: f32[B]) -> (a b: f32[B]) { return x, sqrt((x + z) * (x + z) + 1) }
plan p implements f(x y z: f32[B/d]) -> (a b: f32[B/d]) {
    return x * (y - 2) / (y - 2), sqrt(x * x + 2 * x * z + z * z + 1)
}
)");
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_EQ(c.assumptions, std::vector<std::string>{"-2 + y[B] != 0"});
}

/// Of a parameter that is read out of in part, that part is assumed, once for plan and model; all
/// of it where one side is a one-hot product.
TEST(Text, RangesOfPartsOfIds) {
  const char* file = R"(
fn f(w: f32[V M], ids: i32[N B]) -> f32[B M] {
    first = read("[N] B -> B", ids, at=0)
    return $
}
plan p implements f(w: f32[V M], ids: i32[N B/d]) -> f32[B/d M] {
    mine = read("[N] B/d -> B/d", ids, at=0)
    return index("[V] M, B/d -> B/d M", w, mine)
}
)";
  std::string same = file, one_hot = file;
  same.replace(same.find('$'), 1, R"(index("[V] M, B -> B M", w, first))");
  one_hot.replace(
      one_hot.find('$'), 1,
      R"(einsum("V M, B V -> B M", w, f32(iota("B V; V") == expand("B -> B V", first))))");
  const Comparison part = compare(same), whole = compare(one_hot);
  EXPECT_TRUE(part.equal) << why(part);
  EXPECT_EQ(part.assumptions, std::vector<std::string>{"0 <= ids[0, B] < |V|"});
  EXPECT_TRUE(whole.equal) << why(whole);
  EXPECT_EQ(whole.assumptions, std::vector<std::string>{"0 <= ids < |V|"});
}

TEST(Text, Dropout) {
  const char* file = R"(
fn drop(x: f32[B L M], k: key[]) -> f32[B L M] { return dropout("B L M", x, fold(k, "hidden"), p=0.1) }
plan sharded implements drop(x: f32[B/d L M], k: key[]) -> f32[B/d L M] {
    u = uniform("B/d L M", fold(k, "$"))
    return where(u < 0.1, 0, x / 0.9)
}
)";
  std::string same = file, other = file;
  same.replace(same.find('$'), 1, "hidden");
  const Comparison c = compare(same);
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_FALSE(compare(other).equal);
}

TEST(Text, AdamW) {
  const char* file = R"(
fn step(w g m v: f32[M F], n: f32[], lr: f32[]) -> (w1 m1 v1: f32[M F]) {
    return adamw(w, g, m, v, n, lr, 0.1)
}
plan sharded implements step(w g m v: f32[M/d F/t], n: f32[], lr: f32[]) -> (w1 m1 v1: f32[M/d F/t]) {
    m1 = m + 0.1 * (g - m)
    v1 = v - 0.05 * (v - g * g)
    u  = m1 / (1 - pow(0.9, n)) / (sqrt(v1 / (1 - pow(0.95, n))) + 1e-8)
    return w * (1 - lr * $) - lr * u, m1, v1
}
)";
  std::string same = file, other = file;
  same.replace(same.find('$'), 1, "0.1");
  other.replace(other.find('$'), 1, "0.01");
  Comparison c = compare(same);
  EXPECT_TRUE(c.equal) << why(c);
  c = compare(other);
  EXPECT_FALSE(c.equal);
  EXPECT_EQ(c.result, 0u);
}

TEST(Text, VocabularyParallelLoss) {
  const char* file = R"(
fn loss(x: f32[B V], target: i32[B]) -> f32[] { return sum("B -> ", cross_entropy("B V, B; V", x, target)) / |B| }
plan sharded implements loss(x: f32[B/d V/t], target: i32[B/d]) -> f32[]{U_d} {
    m   = all_reduce("B/d {Max_t} -> B/d", max("B/d V/t -> B/d {Max_t}", x))
    z   = all_reduce("B/d {U_t} -> B/d", sum("B/d V/t -> B/d {U_t}", exp(x - m)))
    hit = iota("B/d V/t; V") == target
    y   = all_reduce("B/d {U_t} -> B/d", sum("B/d V/t -> B/d {U_t}", where(hit, x, 0)))
    return sum("B/d -> {U_d}", log(z) + $ - y) / |B|
}
)";
  std::string same = file, other = file;
  same.replace(same.find('$'), 1, "m");
  other.replace(other.find('$'), 1, "2 * m");
  const Comparison c = compare(same);
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_FALSE(compare(other).equal);
}

/// A factor of a group is the index of that name, not one that is summed beside it.
TEST(Text, GroupBesideItsFactor) {
  const std::string file = R"text(
fn f(o: f32[B (K D)], s: f32[K]) -> f32[B (K D)] { $ }
plan p implements f(o: f32[B (K D)/t], s: f32[K/t]) -> f32[B (K D)/t] {
    return einsum("B (K D)/t, K/t -> B (K D)/t", o, s)
}
)text";
  EXPECT_FALSE(compare(filled(file, "return o * sum(\"K -> \", s)")).equal);
  const Comparison c = compare(filled(file, R"text(
    parts = einsum("B K D, K -> B K D", rearrange("B (K D) -> B K D", o), s)
    return rearrange("B K D -> B (K D)", parts)
)text"));
  EXPECT_TRUE(c.equal) << why(c);
}

/// An alias of a group has factors of its own; renames keep the place.
TEST(Text, AliasesOfGroups) {
  const std::string file = R"(
dim H = (K D)
dim A X Y = H
fn f(x: f32[A H], y: f32[A]) -> (r: f32[H A], s: f32[D K], t: f32[A]) {
    return rearrange("A H -> H A", x), rearrange("K D -> D K", y), sum("A H -> A", x)
}
plan p implements f(x: f32[A H], y: f32[A]) -> (r: f32[H A], s: f32[D K], t: f32[A]) {
    r = rearrange("H A -> H A", $)
    return r, rearrange("A -> D K", y), sum("D A K -> A", rearrange("H A -> D A K", r))
}
)";
  const Comparison c = compare(filled(file, "rearrange(\"X Y -> Y X\", x)"));
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_FALSE(compare(filled(file, "rearrange(\"X Y -> X Y\", x)")).equal);
}

TEST(Text, AliasBesideItsBase) {
  const std::string file = R"(
dim M2 M3 = M
fn f(a: f32[M M2]) -> f32[M] { return sum("M M3 -> M", rearrange("M M2 -> M M3", a)) }
plan p implements f(a: f32[M M2]) -> f32[M] { return $ }
)";
  const Comparison c = compare(filled(file, "sum(\"M M3 -> M\", a)"));
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_FALSE(compare(filled(file, "rearrange(\"M -> M\", sum(\"M M2 -> M2\", a))")).equal);
}

TEST(Text, RenamedSplitGroup) {
  const Comparison c = compare(R"(
dim G = (M F)
dim R = G
fn f(x: f32[G]) -> f32[R] { return rearrange("G -> R", x) }
plan p implements f(x: f32[G/t]) -> f32[R/t] { return rearrange("G/t -> R/t", x) }
)");
  EXPECT_TRUE(c.equal) << why(c);
}

TEST(Text, ScannedLayersAndStackedActivations) {
  const char* file = R"(
record Layer { a: f32[M F]  b: f32[M F] }
layout Shards of Layer { a b: f32[M/d F/t] }
fn run(x0: f32[B M], w: Layer[N]) -> (y: f32[B M], hs: f32[N B F]) {
    xN, hs = scan n in N, x: f32[B M] = x0 {
        h = relu(einsum("B M, M F -> B F", x, w.a[n]))
        next x + einsum("B F, M F -> B M", h, w.b[n])
        emit h
    }
    return xN, hs
}
plan sharded implements run(x0: f32[B/d M], w: Shards[N]) -> (y: f32[B/d M], hs: f32[N B/d F/t]) {
    xN, hs = scan n in N, x: f32[B/d M] = x0 {
        a = all_gather("M/d F/t -> M F/t", w.a[n])
        b = all_gather("M/d F/t -> M F/t", w.b[n])
        h = maximum(einsum("B/d M, M F/t -> B/d F/t", x, a), 0)
        next all_reduce("B/d M {U_t} -> B/d M", einsum("B/d F/t, M F/t -> B/d M {U_t}", h, $)) + x
        emit h
    }
    return xN, hs
}
)";
  std::string same = file, other = file;
  same.replace(same.find('$'), 1, "b");
  other.replace(other.find('$'), 1, "2.0 * b");
  Comparison c = compare(same);
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_EQ(c.limit, 1);
  c = compare(other);
  ASSERT_TRUE(c.difference) << why(c);
  EXPECT_EQ(c.difference->text.find("body of the scan over N: term"), 0u) << c.difference->text;
}

}  // namespace text_test
}  // namespace shardproof::lower
