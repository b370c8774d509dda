// Fixes that put a whole plan right: patterns without axes, functions over a dim that is split,
// losses that are copies.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace fixes_of_patterns_test {

const std::string head = "mesh d t\ndim B M F V\n";
const std::string layers =
    "fn f(x: f32[B M], a: f32[M F], b: f32[F M]) -> f32[B M] {\n"
    "    return einsum(\"B F, F M -> B M\", gelu(einsum(\"B M, M F -> B F\", x, a)), b)\n}\n"
    "plan p implements f(x: f32[B/d M], a: f32[M F/t], b: f32[F/t M]) -> f32[B/d M] {\n";

TEST(FixesOfPatterns, AxesThatThePatternsLackAreStatedLineByLine) {
  expect_first_fix(head + layers +
                       "    h = einsum(\"B M, M F -> B F\", x, a)\n"
                       "    y = einsum(\"B F, F M -> B M\", gelu(h), b)\n    return y\n}\n",
                   "E0301", "state the types of the operands and of the result, then all_reduce");
}

const std::string softmax =
    "fn f(x: f32[B M]) -> f32[B M] { return softmax(\"B M; M\", x) }\nplan p implements f(x: ";

TEST(FixesOfPatterns, ALibraryCallStatesItsArgument) {
  expect_first_fix(head + softmax + "f32[B/d M]) -> f32[B/d M] { return softmax(\"B M; M\", x) }\n",
                   "E0301", "state the argument's type in the pattern");
}

TEST(FixesOfPatterns, WhatALibraryFunctionWorksOnIsGathered) {
  expect_fix(
      head + softmax + "f32[B/d M/t]) -> f32[B/d M/t] { return softmax(\"B/d M/t; M\", x) }\n",
      "E0208", "gather the operand of softmax, then slice");
  expect_first_fix(
      head +
          "fn l(x: f32[B V], y: i32[B]) -> f32[] {\n"
          "    return sum(\"B -> \", cross_entropy(\"B V, B; V\", x, y))\n}\n"
          "plan p implements l(x: f32[B/d V/t], y: i32[B/d]) -> f32[]{U_d} {\n"
          "    return sum(\"B/d -> {U_d}\", cross_entropy(\"B/d V/t, B/d; V\", x, y))\n}\n",
      "E0208", "gather the operand of cross_entropy");
}

TEST(FixesOfPatterns, AStatedTypeIsTheValues) {
  expect_first_fix(head +
                       "fn f(x: f32[B M]) -> f32[B M] { return x * 2 }\n"
                       "plan p implements f(x: f32[B/d M]) -> f32[B/d M] {\n"
                       "    y: f32[B M] = x * 2\n    return y\n}\n",
                   "E0302", "state the value's type, `f32[B/d M]`");
}

std::string step_of(const std::string& type, const std::string& loss) {
  return "fn l(w: f32[M], x: f32[B M]) -> f32[] { return sum(\"B M -> \", tanh(x * w)) }\n"
         "fn s(w: f32[M], x: f32[B M]) -> f32[M] {\n"
         "    _l, g = value_and_grad(l wrt w)(w, x)\n    return w - g\n}\n"
         "plan q implements l(w: f32[M], x: f32[B/d M]) -> " +
         type + " {\n    return " + loss +
         "\n}\nplan p implements s(w: f32[M], x: f32[B/d M]) -> f32[M] {\n"
         "    _l, g = value_and_grad(q wrt w)(w, x)\n    return w - g\n}\n";
}

TEST(FixesOfPatterns, ALossThatIsACopyIsCountedOnce) {
  const std::string sum = "sum(\"B/d M -> {U_d}\", tanh(x * w))";
  expect_first_fix("mesh d t\ndim B M\n" + step_of("f32[]{U_d}", sum), "E0218",
                   "count the loss once: `q` returns f32[]{U_d U_t}");
  expect_first_fix("mesh d\ndim B M\n" + step_of("f32[]", "all_reduce(\"{U_d} -> \", " + sum + ")"),
                   "E0218", "do not reduce the loss");
}

TEST(FixesOfPatterns, ALossMayStayASum) {
  const std::vector<Diagnostic> errors = errors_of(
      "mesh d\ndim B M\nfn l(x: f32[B M]) -> f32[] { return sum(\"B M -> \", tanh(x)) }\n"
      "plan q implements l(x: f32[B/d M]) -> f32[] { return sum(\"B/d M -> {U_d}\", tanh(x)) }\n");
  ASSERT_EQ(errors.size(), 1u);
  ASSERT_EQ(errors[0].fixes.size(), 2u);
  EXPECT_THAT(errors[0].fixes[1].message, testing::HasSubstr("say so in the result's type"));
  EXPECT_TRUE(errors[0].fixes[1].checked);
}

TEST(FixesOfPatterns, ARecordIsReducedFieldByFieldAlsoWhereTheLayoutsAreTheSame) {
  expect_first_fix(
      "mesh d\ndim M\nrecord R { a: f32[M] }\nlayout U of R { a: f32[M]{U_d} }\n"
      "layout S of R { a: f32[M] }\nfn f(g: R) -> R { return g }\n"
      "plan p implements f(g: U) -> S { return all_reduce(\"S -> S\", g) }\n",
      "E0306", "reduce each field over what it is unreduced over, `-> S`");
}

}  // namespace fixes_of_patterns_test
}  // namespace shardproof
