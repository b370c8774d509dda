// The report of a step that cannot use a derived backward.
#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {
namespace derived_test {

constexpr char model[] = R"(mesh d
dim N M
record Inner { a: f32[M] }
record Outer { inner: Inner[N]  b: f32[M] }
layout InnerD of Inner { a: f32[M/d] }
layout OuterD of Outer { inner: InnerD[N]  b: f32[M/d] }
fn loss(w: Outer, x: f32[M]) -> f32[] {
    y = scan n in N, y0: f32[M] = x { next y0 * w.inner[n].a }
    return sum("M -> ", y * w.b)
}
plan loss_d implements loss(w: OuterD, x: f32[M/d]) -> f32[]{U_d} {
    y = scan n in N, y0: f32[M/d] = x { next y0 * w.inner[n].a }
    return sum("M/d -> {U_d}", y * w.b)
}
)";

constexpr char step[] = R"(mesh d
dim N M
fn step(w: Outer, x: f32[M]) -> Outer {
    g = grad(loss wrt w)(w, x, 1.0)
    return g
}
plan of_its_own implements loss(w: OuterD, x: f32[M/d]) -> f32[]{U_d} { return loss_d(w, x) }
plan step_d implements step(w: OuterD, x: f32[M/d]) -> OuterD {
    g = grad(of_its_own wrt w)(w, x, 1.0)
    return g
}
)";

PlanReport step_with(const std::string& imports) {
  const std::string text = "import " + imports + " from \"model.shard\"\n" + step;
  const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
    if (path == "step.shard") return text;
    if (path == "model.shard") return model;
    return std::nullopt;
  };
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  const CheckedProgram checked = check(sources, "step.shard", reader, options);
  for (const PlanReport& plan : checked.plans())
    if (plan.name == "step_d") return plan;
  return {};
}

TEST(DerivedBackward, SaysWhatTheFileDoesNotImport) {
  const PlanReport known = step_with("Outer, OuterD, Inner, InnerD, loss, loss_d");
  EXPECT_EQ(known.verdict, Verdict::proved);
  const PlanReport missing = step_with("Outer, OuterD, loss, loss_d");
  EXPECT_EQ(missing.verdict, Verdict::unknown);
  ASSERT_FALSE(missing.diagnostics.empty());
  const Diagnostic& told = missing.diagnostics[0];
  EXPECT_EQ(told.code, "U0002");
  EXPECT_EQ(told.message,
            "the derived backward of `of_its_own` makes a `InnerD`, which this file does not name");
  EXPECT_EQ(told.details, std::vector<std::string>{"import `InnerD` beside what it is a part of"});
}

}  // namespace derived_test
}  // namespace shardproof
