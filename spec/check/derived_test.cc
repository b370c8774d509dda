// The report of a step that cannot use a derived backward.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "spec/check/check.h"
#include "spec/check/derived.h"

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
  options.patience = 20;
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
  ASSERT_EQ(told.fixes.size(), 1u);
  EXPECT_EQ(told.fixes[0].message, "import `InnerD` beside what it is a part of");
}

struct Backward {
  CheckedProgram checked;
  CheckedBackward backward;
};

/// Of the plan of that name in the file at `path`.
Backward backward_of(const std::string& path, const Name& plan, const FileReader& reader,
                     const CheckOptions& options) {
  Sources sources;
  CheckedProgram checked = check(sources, path, reader, options);
  size_t found = 0;
  for (size_t f = 0; f < checked.program().functions.size(); ++f)
    if (checked.program().functions[f].name == plan) found = f;
  CheckedBackward backward = check_backward(sources, path, {checked.program(), checked.types()},
                                            found, {}, reader, options);
  return {std::move(checked), std::move(backward)};
}

/// The backwards of n plans would else read n * n functions. Lines keep their numbers.
TEST(DerivedBackward, IsCheckedBesideWhatItNeeds) {
  const std::string others =
      "fn other(x: f32[M]) -> f32[M] {\n    return x\n}\n"
      "plan other_d implements other(x: f32[M/d]) -> f32[M/d] {\n    return x\n}\n";
  const std::string own = std::string(model) + others;
  const FileReader one = [&](const std::string&) { return std::optional(own); };
  const auto [checked, backward] = backward_of("own.shard", "loss_d", one, {});
  ASSERT_EQ(checked.program().functions.size(), 4u);
  EXPECT_EQ(backward.verdict(), Verdict::proved);
  std::set<Name> names;
  for (const ir::Function& each : backward.checked->program().functions) names.insert(each.name);
  EXPECT_EQ(names, (std::set<Name>{"loss", "loss_d", "loss_d_backward"}));
  const ir::Function& derived =
      backward.checked->program().functions.at(backward.report()->function);
  const auto lines = static_cast<uint32_t>(std::count(own.begin(), own.end(), '\n'));
  EXPECT_GT(backward.sources->locate(derived.source, derived.name_range.begin).line, lines);
  const std::string& text = backward.sources->file(derived.source).text;
  EXPECT_EQ(text.find("other"), text.npos);
}

/// What is printed for a plan of another file is pasted into the file that imports the plan.
Verdict pasted(const std::string& path, const Name& plan, const FileReader& reader) {
  CheckOptions options;
  options.fixes = false;
  options.patience = 20;
  const CheckedBackward backward = backward_of(path, plan, reader, options).backward;
  const FileReader with_it = [&](const std::string& file) {
    auto text = reader(file);
    if (text && file == path) *text += "\n" + backward.needs + backward.text;
    return text;
  };
  options.only = backward.name;
  Sources again;
  const CheckedProgram together = check(again, path, with_it, options);
  EXPECT_TRUE(together.diagnostics().empty()) << together.diagnostics()[0].message;
  return together.plans().empty() ? Verdict::invalid : together.plans()[0].verdict;
}

TEST(DerivedBackward, HasTheImportsThatItNeedsInAnotherFile) {
  const FileReader two = [](const std::string& path) -> std::optional<std::string> {
    if (path == "a/b/own.shard") return "import loss_d from \"../model.shard\"\nmesh d\n";
    if (path == "a/model.shard") return model;
    return std::nullopt;
  };
  EXPECT_EQ(pasted("a/b/own.shard", "loss_d", two), Verdict::proved);
  const std::string models = SHARDPROOF_SOURCE_DIR "/spec/models/";
  EXPECT_EQ(pasted(models + "gpt2_tensor_parallel.shard", "gpt2_loss_t", disk_reader()),
            Verdict::proved);
}

/// Two backwards in one file have layouts of their own.
TEST(DerivedBackward, NamesNoLayoutAsTheFileDoes) {
  const std::string own =
      std::string(model) +
      "layout InnerGradient of Inner { a: f32[M]{I_d} }\n"
      "fn keep(w: Inner) -> Inner { return w }\n"
      "plan keep_d implements keep(w: InnerGradient) -> InnerGradient { return w }\n"
      "plan whole implements loss(w: Outer, x: f32[M/d]) -> f32[]{U_d} {\n"
      "    y = scan n in N, y0: f32[M/d] = x { next y0 * slice(\"M -> M/d\", w.inner[n].a) }\n"
      "    return sum(\"M/d -> {U_d}\", y * slice(\"M -> M/d\", w.b))\n}\n";
  const FileReader one = [&](const std::string& path) -> std::optional<std::string> {
    if (path == "own.shard") return own;
    return std::nullopt;
  };
  EXPECT_EQ(pasted("own.shard", "whole", one), Verdict::proved);
}

}  // namespace derived_test
}  // namespace shardproof
