// The programs in the explanation pages do what the pages say.
#include <gtest/gtest.h>

#include "spec/check/check.h"
#include "spec/diag/explanations.h"
#include "spec/diag/render.h"

namespace shardproof {
namespace {

/// The indented block below the line `heading`; empty where the page has none.
std::string block(const std::string& page, const std::string& heading) {
  size_t at = page.find("\n" + heading + "\n");
  if (at == std::string::npos) return "";
  std::string text;
  for (at = page.find("    ", at); at < page.size();) {
    const size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    if (!line.empty() && !line.starts_with("    ")) break;
    text += (line.empty() ? "" : line.substr(4)) + "\n";
    at = end + 1;
  }
  return text;
}

struct Outcome {
  std::vector<std::string> codes;
  std::string text;
  Verdict verdict;
};

Outcome outcome(const std::string& program) {
  Sources sources;
  const CheckedProgram checked =
      check(sources, "page.shard", [&](const std::string& path) -> std::optional<std::string> {
        if (path == "page.shard") return program;
        return std::nullopt;
      });
  Outcome result{{}, program, checked.verdict()};
  auto add = [&](const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& each : diagnostics) {
      result.codes.push_back(each.code);
      result.text += render(each, sources);
    }
  };
  add(checked.diagnostics());
  for (const PlanReport& plan : checked.plans()) add(plan.diagnostics);
  return result;
}

TEST(Explanations, TheWrongProgramHasTheCodeAndTheRightOneIsProved) {
  for (const auto& [code, page] : embedded_explanations()) {
    if (const std::string wrong = block(page, "Wrong:"); !wrong.empty()) {
      const Outcome found = outcome(wrong);
      EXPECT_EQ(found.codes.empty() ? "nothing" : found.codes[0], code) << found.text;
    }
    if (const std::string right = block(page, "Right:"); !right.empty()) {
      const Outcome found = outcome(right);
      EXPECT_TRUE(found.codes.empty()) << code << ", right:\n" << found.text;
      EXPECT_EQ(found.verdict, Verdict::proved) << code;
    }
  }
}

}  // namespace
}  // namespace shardproof
