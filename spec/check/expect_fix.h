#pragma once
// Expectations about the fixes of a wrong program, for tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {

/// The errors of a file, of the file itself and of its plans.
inline std::vector<Diagnostic> errors_of(const std::string& text) {
  Sources sources;
  const FileReader reader = [&](const std::string& path) {
    return path == "a.shard" ? std::optional(text) : std::nullopt;
  };
  CheckOptions options;
  options.patience = 20;  // the same fixes in a build with sanitizers
  const CheckedProgram checked = check(sources, "a.shard", reader, options);
  std::vector<Diagnostic> errors;
  const auto add = [&](const std::vector<Diagnostic>& all) {
    for (const Diagnostic& each : all)
      if (each.severity == Severity::error) errors.push_back(each);
  };
  add(checked.diagnostics());
  for (const PlanReport& plan : checked.plans()) add(plan.diagnostics);
  return errors;
}

/// One error with this code, whose first fix has these words and proves the plan.
inline void expect_fix(const std::string& text, const std::string& code, const std::string& words) {
  const std::vector<Diagnostic> errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1u) << text;
  EXPECT_EQ(errors[0].code, code) << text;
  ASSERT_FALSE(errors[0].fixes.empty()) << text;
  const Fix& fix = errors[0].fixes[0];
  EXPECT_THAT(fix.message, testing::HasSubstr(words)) << text;
  EXPECT_TRUE(fix.checked) << text;
}

/// The first error has this code, and a first fix with these words that proves the plan, whatever
/// follows from the error.
inline void expect_first_fix(const std::string& text, const std::string& code,
                             const std::string& words) {
  const std::vector<Diagnostic> errors = errors_of(text);
  ASSERT_FALSE(errors.empty()) << text;
  EXPECT_EQ(errors[0].code, code) << text;
  ASSERT_FALSE(errors[0].fixes.empty()) << text;
  EXPECT_THAT(errors[0].fixes[0].message, testing::HasSubstr(words)) << text;
  EXPECT_TRUE(errors[0].fixes[0].checked) << text;
}

/// The first error has this code and a fix or a help with these words.
inline void expect_help(const std::string& text, const std::string& code,
                        const std::string& words) {
  const std::vector<Diagnostic> errors = errors_of(text);
  ASSERT_FALSE(errors.empty()) << text;
  EXPECT_EQ(errors[0].code, code) << text;
  std::vector<std::string> messages;
  for (const Fix& fix : errors[0].fixes) messages.push_back(fix.message);
  EXPECT_THAT(messages, testing::Contains(testing::HasSubstr(words))) << text;
}

}  // namespace shardproof
