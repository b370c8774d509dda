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

TEST(AlmostRight, TheLastValueIsReturned) {
  expect_fix(body("y = x * 2"), "E0103", "return the last value");
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
