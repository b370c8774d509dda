// What a file prints is bounded, whatever it holds: a note for each of thousands of names is not.
#include "spec/check/long_texts.h"

#include <gtest/gtest.h>

namespace shardproof {
namespace {

TEST(LongTexts, MoreThanAHundredAlikeAreCounted) {
  std::vector<Diagnostic> file(90);
  std::vector<PlanReport> plans(2);
  std::vector<Diagnostic>&first = plans[0].diagnostics, &second = plans[1].diagnostics;
  first.resize(30), second.resize(5);
  for (auto* list : {&file, &first, &second})
    for (Diagnostic& each : *list) each.code = "L0003", each.severity = Severity::note;
  second[4].code = "L0001";
  for (int again = 0; again < 2; ++again) {  // a hundred and one stay
    leave_out_alike(file, plans);
    EXPECT_EQ(file.size(), 90u);
    ASSERT_EQ(first.size(), 11u);
    EXPECT_EQ(first[10].message, "and 24 more: an unused value, fn or dim");
    EXPECT_EQ(first[10].severity, Severity::note);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].code, "L0001");
  }
}

TEST(LongTexts, OtherPlacesAreCounted) {
  std::vector<Diagnostic> told(1);
  told[0].notes.resize(23);
  shorten_texts(told);
  EXPECT_EQ(told[0].notes.size(), 20u);
  EXPECT_EQ(told[0].details, std::vector<std::string>{"and 3 more places"});
}

TEST(LongTexts, AVerdictIsTheSameWhereErrorsAreLeftOut) {
  std::string text = "mesh t\ndim B\nfn f(x: f32[B]) -> f32[] { return sum(\"B -> \", x) }\n";
  for (int i = 0; i < 150; ++i)
    text += "plan p" + std::to_string(i) +
            " implements f(x: f32[B/t]) -> f32[] { return sum(\"B/t -> {U_t}\", x) }\n";
  Sources sources;
  const FileReader reader = [&](const std::string&) { return std::optional(text); };
  CheckOptions options;
  options.fixes = false;
  const CheckedProgram checked = check(sources, "p.shard", reader, options);
  size_t errors = 0;
  for (const PlanReport& plan : checked.plans()) {
    errors += plan.diagnostics.size();
    EXPECT_EQ(plan.verdict, Verdict::refuted) << plan.name;
  }
  EXPECT_EQ(errors, 101u);
}

}  // namespace
}  // namespace shardproof
