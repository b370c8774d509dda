// Programs of people who begin: what lacks one word, or has it in another place.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace {

using testing::Contains;
using testing::HasSubstr;

const std::string head = "mesh d t\ndim B M F V S K D\n";

std::string body(const std::string& text) {
  return head + "fn f(x: f32[B M]) -> f32[B M] {\n    " + text + "\n}\n";
}

TEST(AlmostRight, AFunctionAlongADimIsGivenItsDims) {
  expect_fix(body("return softmax(x)"), "E0103", "`\"B M; M\"`");
  expect_fix(body("return softmax(\"M\", x)"), "E0103", "`\"B M; M\"`");
  expect_fix(head +
                 "fn f(x: f32[B M]) -> f32[B M] { return softmax(\"B M; M\", x) }\n"
                 "plan p implements f(x: f32[B/d M]) -> f32[B/d M] {\n"
                 "    return softmax(\"B/d M; F\", x)\n}\n",
             "E0305", "work on `M`");
}

TEST(AlmostRight, ThePatternOfAScalarGetsTheDims) {
  expect_first_fix(head +
                       "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                       "plan p implements f(x: f32[B/d M]{U_t}) -> f32[B/d M] {\n"
                       "    return all_reduce(\"{U_t} -> \", x)\n}\n",
                   "E0305", "name its dims, `B/d M {U_t} -> B/d M`");
}

TEST(AlmostRight, TheResultOfAPatternHasItsArrow) {
  expect_fix(head +
                 "fn g(x: f32[B M], w: f32[M F]) -> f32[B F] { return einsum(\"B M, M F -> B F\", "
                 "x, w) }\n"
                 "plan p implements g(x: f32[B/d M], w: f32[M F/t]) -> f32[B/d F/t] {\n"
                 "    return einsum(\"B/d M, M F/t B/d F/t\", x, w)\n}\n",
             "E0305", "after `->`");
}

TEST(AlmostRight, ACommaIsMissing) {
  expect_fix(body("return maximum(x 2.0)"), "E0002", "a comma separates the arguments");
  expect_fix(body("return sum(\"B M F -> B M\" expand(\"B M -> B M F\", x))"), "E0002",
             "a comma separates the arguments");
  expect_fix(
      head +
          "fn g(x: f32[B M], w: f32[M F]) -> f32[B F] { return einsum(\"B M M F -> B F\", x, "
          "w) }\n",
      "E0103", "with a comma between them");
  expect_fix(head +
                 "fn g(x: f32[B M]) -> (y: f32[B M], z: f32[B M]) { return x, 2 * x }\n"
                 "fn f(x: f32[B M]) -> f32[B M] {\n    y z = g(x)\n    return y + z\n}\n",
             "E0002", "a comma separates the names");
}

TEST(AlmostRight, AnArrowIsMissing) {
  const std::string g = "fn g(x: f32[B M]) -> f32[M] { return sum(\"B M -> M\", x) }\n";
  const std::string local = "sum(\"B/d M -> M {U_d}\", x)";
  for (const std::string pattern : {"M {U_d} M", "M {U_d}"})
    expect_fix(head + g +
                   "plan p implements g(x: f32[B/d M]) -> f32[M] {\n    return all_reduce(\"" +
                   pattern + "\", " + local + ")\n}\n",
               pattern.ends_with('M') ? "E0006" : "E0305", "the result stands after `->`");
}

TEST(AlmostRight, AnotherValueIsMeant) {
  const std::string model =
      "record R { a: f32[M F] b: f32[F M] }\nlayout L of R { a: f32[M F/t] b: f32[F/t M] }\n"
      "fn g(x: f32[B M], r: R) -> f32[B M] {\n"
      "    h = einsum(\"B M, M F -> B F\", x, r.a)\n"
      "    return einsum(\"B F, F M -> B M\", h, r.b)\n}\n";
  const auto text = [&](const std::string& h, const std::string& weight) {
    return head + model +
           "plan p implements g(x: f32[B M], r: L) -> f32[B M]{U_t} {\n"
           "    h = einsum(\"B M, M F/t -> B F/t\", x, r.a)\n"
           "    return einsum(\"B F/t, F/t M -> B M {U_t}\", " +
           h + ", " + weight + ")\n}\n";
  };
  expect_fix(text("h", "r.a"), "E0305", "did you mean `r.b`?");
  expect_fix(text("x", "r.b"), "E0305", "did you mean `h`?");
}

TEST(AlmostRight, TheCarriesHaveTheirOrder) {
  expect_first_fix(head +
                       "fn g(x: f32[B M]) -> f32[M] { return sum(\"B M -> M\", x) }\n"
                       "plan p implements g(x: f32[B M]) -> f32[M] {\n"
                       "    s, _k = scan n in B, c: f32[M] = zeros(f32[M]), k: f32[] = 0 {\n"
                       "        next k + 1, c + x[n]\n    }\n    return s\n}\n",
                   "E0304", "in their order");
}

TEST(AlmostRight, ALoopGoesOverTheDimOfItsEntries) {
  expect_fix(body("s = scan n in F, c: f32[M] = zeros(f32[M]) { next c + x[n] }\n"
                  "    return x + expand(\"M -> B M\", s)"),
             "E0305", "let the loop go over `B`");
}

TEST(AlmostRight, ACastIsMissingWhereTheValueIsComputed) {
  const std::string products =
      "    a = einsum(\"B/d M, M F -> B/d F\", n, w)\n"
      "    return a * einsum(\"B/d M, M F -> B/d F\", n, 2 * w)\n}\n";
  const std::string g =
      "fn g(x: f32[B M], w: f32[M F]) -> f32[B F] {\n"
      "    a = einsum(\"B M, M F -> B F\", 2 * x, w)\n"
      "    return a * einsum(\"B M, M F -> B F\", 2 * x, 2 * w)\n}\n";
  expect_first_fix(head + g +
                       "plan p implements g(x: f32[B/d M], w: bf16[M F]) -> bf16[B/d F] {\n"
                       "    n = 2 * x\n" +
                       products,
                   "E0104", "cast `n` where it is computed");
}

TEST(AlmostRight, TheHeadOfAPlanHasTheAxesOfItsBodyAndItsCallers) {
  const std::string model =
      "fn g(x: f32[B M]) -> f32[M] { return sum(\"B M -> M\", x) }\n"
      "fn f(x: f32[B M]) -> f32[M] { return 2 * g(x) }\n";
  const auto text = [&](const std::string& param, const std::string& result) {
    return head + model + "plan q implements g(x: " + param + ") -> " + result +
           " {\n    return psum_scatter(\"M {U_d} -> M/d\", sum(\"B/d M -> M {U_d}\", x))\n}\n"
           "plan p implements f(x: f32[B/d M]) -> f32[M/d] { return 2 * q(x) }\n";
  };
  for (const std::string wrong : {"f32[B/t M]", "f32[B M]", "f32[B M/d]"}) {
    const std::vector<Diagnostic> errors = errors_of(text(wrong, "f32[M/d]"));
    ASSERT_EQ(errors.size(), 2u) << wrong;
    ASSERT_EQ(errors[0].fixes.size(), 1u) << wrong;
    EXPECT_EQ(errors[0].fixes[0].message, "declare `x` as `f32[B/d M]`");
    EXPECT_TRUE(errors[0].fixes[0].checked);
    EXPECT_THAT(errors[1].fixes.at(0).message, HasSubstr("clears this too"));
  }
  expect_first_fix(text("f32[B/d M]", "f32[M/t]"), "E0302", "state the value's type, `f32[M/d]`");
  expect_first_fix(text("f32[B/d M/d]", "f32[M/d]"), "E0110", "leave out `/d`");
  expect_first_fix(text("f32[B/d M]{U_d}", "f32[M/d]"), "E0110", "leave out `{U_d}`");
}

TEST(AlmostRight, AParameterIsDeclaredAsItIsReadRatherThanMoved) {
  const auto text = [&](const std::string& param) {
    return head + "fn g(x: f32[B M]) -> f32[B] { return sum(\"B M -> B\", x) }\n" +
           "plan q implements g(x: " + param +
           ") -> f32[B/d] {\n    return sum(\"B/d M -> B/d\", x)\n}\n";
  };
  for (const std::string wrong : {"f32[B/t M]", "f32[B M/d]"})
    expect_fix(text(wrong), "E0301", "declare `x` as `f32[B/d M]`");
  expect_fix(text("f32[B/d M/t]"), "E0301", "all_gather first");
}

TEST(AlmostRight, ADimIsTwiceInAType) {
  const auto text = [&](const std::string& model, const std::string& plan) {
    return head + "fn g(x: " + model + ") -> f32[B] { return sum(\"B M -> B\", x) }\n" +
           "plan p implements g(x: " + plan +
           ") -> f32[B/d] {\n    return sum(\"B/d M -> B/d\", x)\n}\n";
  };
  expect_first_fix(text("f32[B B]", "f32[B/d M]"), "E0110", "name the dims as `p` does");
  expect_fix(text("f32[B M]", "f32[B/d B]"), "E0110", "name the dims as `g` does");
  expect_fix(text("f32[B M]", "f32[M M]"), "E0110", "name the dims as `g` does, then");
  const std::string products =
      "fn s(q k: f32[B L D]) -> f32[B L L] { return einsum(\"B L D, B L D -> B L L\", q, k) }\n"
      "plan p implements s(q k: f32[B/d L D]) -> f32[B/d L L] {\n"
      "    return einsum(\"B/d L D, B/d L D -> B/d L L\", q, k)\n}\n";
  expect_first_fix("mesh d\ndim B L D\n" + products, "E0110", "`L2` for the second `L`");
  expect_first_fix("mesh d\ndim B L D\ndim T = L\n" + products, "E0110", "`T` for the second `L`");
}

TEST(AlmostRight, TheLastValueIsReturned) {
  expect_fix(body("y = x * 2"), "E0103", "return the last value");
  expect_fix(body("x * 2 + x"), "E0002", "return the value");
}

const std::string model =
    "fn g(x: f32[B M], w: f32[M F]) -> f32[B F] {\n"
    "    return einsum(\"B M, M F -> B F\", x, w)\n}\n";
const std::string product = " { return einsum(\"B/d M, M F -> B/d F\", x, w) }\n";

TEST(AlmostRight, ParametersAndFieldsHaveTheirOrder) {
  expect_fix(
      head + model + "plan p implements g(w: f32[M F], x: f32[B/d M]) -> f32[B/d F]" + product,
      "E0108", "put them in the order `x w`");
  expect_help(head + model +
                  "plan p implements g(x: f32[B/d M], v: f32[M F]) -> f32[B/d F] {\n"
                  "    return einsum(\"B/d M, M F -> B/d F\", x, v)\n}\n",
              "E0108", "with their names and in their order: `x, w`");
  expect_first_fix(head +
                       "record R { a: f32[M] b: f32[F] }\nlayout L of R { b: f32[F] a: f32[M/d] }\n"
                       "fn g(r: R) -> f32[M] { return r.a }\n"
                       "plan p implements g(r: L) -> f32[M/d] { return r.a }\n",
                   "E0105", "put them in the order `a b`");
}

TEST(AlmostRight, ADimIsDeclared) {
  const std::string scores =
      "fn g(q k: f32[B S K D]) -> f32[B S T K] {\n"
      "    return einsum(\"B S K D, B T K D -> B S T K\", q, k)\n}\n";
  expect_help(head + scores, "E0101", "declare it: `dim T`, or as another name of a dim");
  expect_help(head + "dim T\n" + scores, "E0305", "declare `dim T = S`");
  expect_help(head +
                  "dim H = |K| * |D|\nfn g(x: f32[B H]) -> f32[B K D] {\n"
                  "    return rearrange(\"B (K D) -> B K D\", x)\n}\n",
              "E0305", "declare `dim H = (K D)`");
  expect_help(body("return sum(\"B M -> B (U_t)\", x)"), "E0101", "in braces, `{U_t}`");
}

TEST(AlmostRight, OtherCallsOfTheLibraryAreNamed) {
  const auto details = [](const std::string& calls, const std::string& called) {
    const std::vector<Diagnostic> errors = errors_of(
        head + "fn f(x: f32[B M]) -> f32[B M] { return " + calls +
        " }\nplan p implements f(x: f32[B/d M]) -> f32[B/d M] { return " + called + " }\n");
    return errors.size() == 1 ? errors[0].details : std::vector<std::string>{};
  };
  EXPECT_THAT(details("gelu(x)", "relu(x)"), Contains("`f` calls `gelu`, `p` calls `relu`"));
  EXPECT_THAT(details("gelu(x)", "x"), Contains("`f` calls `gelu`, `p` does not"));
  EXPECT_THAT(details("x", "silu(x)"), Contains("`p` calls `silu`, `f` does not"));
  EXPECT_THAT(details("layer_norm(\"B M; M\", x)", "layer_norm(\"B/d M; M\", x, eps=1e-6)"),
              Contains("eps of `layer_norm` is 1e-5 in `f`, and 1e-6 in `p`"));
}

}  // namespace
}  // namespace shardproof
