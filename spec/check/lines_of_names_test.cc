// Where a name stands for what it should not: the line that gives the name, or the one that reads
// it, is reported.
#include <gtest/gtest.h>

#include "spec/check/expect_line.h"

namespace shardproof {
namespace lines_of_names_test {

const char* const average = R"(
mesh d
dim B L M
fn average(x: f32[L B M], a: f32[M]) -> f32[L B M] {
    _h, out = scan l in L, h0: f32[B M] = zeros(f32[B M]) {
        s = 1 / (1 + exp(-a))
        h = h0 * s + x[l] * (1 - s)
        next h
        emit h
    }
    return out
}
plan average_d implements average(x: f32[L B/d M], a: f32[M]) -> f32[L B/d M] {
    s = 1 / (1 + exp(-a))
    keep = 1 - s
    _h, out = scan l in L, h0: f32[B/d M] = zeros(f32[B/d M]) {
        old = h0 * s
        h = old + x[l] * keep
        next h
        emit h
    }
    return out
}
)";
const char* const centred = R"(
mesh d
dim B C
fn centred(x: f32[B C], a: f32[C]) -> f32[B C] {
    mu = sum("B C -> B", x) / |C|
    return relu(x - mu) * abs(a)
}
plan centred_d implements centred(x: f32[B C/d], a: f32[C/d]) -> f32[B C/d] {
    mu = all_reduce("B {U_d} -> B", sum("B C/d -> B {U_d}", x)) / |C|
    z = x - mu
    r = relu(z)
    return r * abs(a)
}
)";

/// `keep = s` in place of `keep = 1 - s`.
TEST(LinesOfNames, AWrongAliasIsReportedWhereItIsDefined) {
  EXPECT_TRUE(lines_of_errors(average).empty());
  expect_own_line(average, {"keep = 1 - s", "keep = s"});
  expect_own_line(average, {"old = h0 * s", "old = h0"});
  EXPECT_TRUE(lines_of_errors(centred).empty());
  expect_own_line(centred, {"z = x - mu", "z = x"});
  expect_own_line(centred, {"r = relu(z)", "r = z"});
}

const char* const momentum = R"(
mesh d t
dim M F
fn step(w v g: f32[M F], lr: f32[]) -> (w1 v1: f32[M F]) {
    v1 = 0.99 * v + 0.01 * g * g
    return w - lr * g / (sqrt(v1) + 0.001), v1
}
plan step_s implements step(w v: f32[M/d F/t], g: f32[M F/t]{U_d}, lr: f32[]) -> (w1 v1: f32[M/d F/t]) {
    gs = psum_scatter("M F/t {U_d} -> M/d F/t", g)
    v1 = 0.99 * v + 0.01 * gs * gs
    w1 = w - lr * gs / (sqrt(v1) + 0.001)
    return w1, v1
}
)";

TEST(LinesOfNames, AParameterThatIsReturnedIsReportedAtTheReturn) {
  EXPECT_TRUE(lines_of_errors(momentum).empty());
  expect_own_line(momentum, {"return w1, v1", "return w1, v"});
}

const char* const cell = R"(
mesh t
dim B L M H
fn cell(x: f32[L B M], wz wh: f32[M H], uz uh: f32[H]) -> f32[B H] {
    h = scan l in L, h0: f32[B H] = zeros(f32[B H]) {
        z = sigmoid(einsum("B M, M H -> B H", x[l], wz) + h0 * uz)
        c = tanh(einsum("B M, M H -> B H", x[l], wh) + h0 * uh)
        next (1 - z) * h0 + z * c
    }
    return h
}
plan cell_t implements cell(x: f32[L B M], wz wh: f32[M H/t], uz uh: f32[H/t]) -> f32[B H/t] {
    h = scan l in L, h0: f32[B H/t] = zeros(f32[B H/t]) {
        az = einsum("B M, M H/t -> B H/t", x[l], wz)
        ah = einsum("B M, M H/t -> B H/t", x[l], wh)
        z = sigmoid(az + h0 * uz)
        c = tanh(ah + h0 * uh)
        keep = (1 - z) * h0
        next keep + z * c
    }
    return h
}
)";

TEST(LinesOfNames, ALineOfALoopNotTheLoop) {
  EXPECT_TRUE(lines_of_errors(cell).empty());
  expect_own_line(cell, {"c = tanh(ah + h0 * uh)", "c = tanh(ah + h0 * uz)"});
  expect_own_line(cell, {"c = tanh(ah + h0 * uh)", "c = tanh(ah)"});
  expect_own_line(cell, {"keep = (1 - z) * h0", "keep = z * h0"});
}

const char* const smoothed = R"(
mesh d
dim B V
fn smoothed(z: f32[B V], y: i32[B]) -> f32[B] {
    lse = log(sum("B V -> B", exp(z)))
    hit = sum("B V -> B", where(iota("B V; V") == expand("B -> B V", y), z, 0))
    mean = sum("B V -> B", z) / |V|
    return lse - 0.9 * hit - 0.1 * mean
}
plan smoothed_d implements smoothed(z: f32[B/d V], y: i32[B/d]) -> f32[B/d] {
    lse = log(sum("B/d V -> B/d", exp(z)))
    mine = where(iota("B/d V; V") == expand("B/d -> B/d V", y), z, 0)
    hit = sum("B/d V -> B/d", mine)
    mean = sum("B/d V -> B/d", z) / |V|
    out = lse - 0.9 * hit - 0.1 * mean
    return out
}
)";

/// `mean` is the model's `mean`: a factor that is missing is missing where it is read.
TEST(LinesOfNames, AValueThatTheModelCallsTheSameIsRight) {
  EXPECT_TRUE(lines_of_errors(smoothed).empty());
  expect_own_line(smoothed, {"out = lse - 0.9 * hit - 0.1 * mean", "out = lse - 0.9 * hit - mean"});
  expect_own_line(smoothed,
                  {"mean = sum(\"B/d V -> B/d\", z) / |V|", "mean = sum(\"B/d V -> B/d\", z)"});
}

}  // namespace lines_of_names_test
}  // namespace shardproof
