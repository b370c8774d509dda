// Plans that are refuted: what is said beside the first difference.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace comparison_test {

/// The details of the only error of a plan that returns these values of the model a, 2 a, 3 a.
std::vector<std::string> details(const std::string& values) {
  const std::vector<Diagnostic> errors = errors_of(
      "mesh d\ndim B\nfn f(x: f32[B]) -> (a b c: f32[B]) { return x, 2 * x, 3 * x }\n"
      "plan p implements f(x: f32[B/d]) -> (a b c: f32[B/d]) { return " +
      values + " }\n");
  return errors.size() == 1 ? errors[0].details : std::vector<std::string>{};
}

TEST(Refuted, OtherResultsThatDifferAreNamed) {
  EXPECT_THAT(details("2 * x, x, x"), testing::Contains("`b`, `c` differ there too"));
  EXPECT_THAT(details("2 * x, 2 * x, x"), testing::Contains("`c` differs there too"));
  EXPECT_THAT(details("x, 2 * x, x"), testing::Each(testing::Not(testing::HasSubstr("too"))));
  EXPECT_FALSE(details("x, 2 * x, x").empty());
}

/// What the tool cannot differentiate may be right.
TEST(Refuted, AGradientThatIsNotDefinedIsNotWrong) {
  Sources sources;
  const FileReader reader = [](const std::string&) {
    return std::optional<std::string>(
        "mesh d\ndim B\nfn square(x: f32[B]) -> f32[B] { return x * x }\n"
        "plan square_d implements square(x: f32[B/d]) -> f32[B/d] { return x * x }\n"
        "plan step(x g: f32[B/d]) -> f32[B/d] { return grad(square_d)(x, g) }\n"
        "plan twice(x g h: f32[B/d]) -> f32[B/d] {\n"
        "    r, _g = grad(step)(x, g, h)\n    return r\n}\n");
  };
  const CheckedProgram checked = check(sources, "a.shard", reader);
  const PlanReport& twice = checked.plans().back();
  ASSERT_EQ(twice.diagnostics.size(), 1u);
  EXPECT_EQ(twice.diagnostics[0].code, "E0217");
  EXPECT_EQ(twice.verdict, Verdict::unknown);
}

}  // namespace comparison_test
}  // namespace shardproof
