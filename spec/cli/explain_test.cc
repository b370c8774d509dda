// The programs in the explanation pages do what the pages say.
#include <gtest/gtest.h>

#include <set>

#include "spec/diag/explanations.h"
#include "spec/diag/render.h"
#include "spec/prove/prove.h"

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
  CheckedProgram checked =
      check(sources, "page.shard", [&](const std::string& path) -> std::optional<std::string> {
        if (path == "page.shard") return program;
        return std::nullopt;
      });
  prove(checked);
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

/// What the checker says first about a page's wrong program; the code itself where there is none.
Outcome wrong_of(const std::string& code, const std::string& page) {
  const std::string wrong = block(page, code[0] == 'L' ? "Noted:" : "Wrong:");
  Outcome found = wrong.empty() ? Outcome{{code}, "", Verdict::refuted} : outcome(wrong);
  if (found.codes.empty()) found.codes.push_back("nothing");
  return found;
}

TEST(Explanations, TheWrongProgramHasTheCode) {
  for (const auto& [code, page] : embedded_explanations()) {
    const Outcome found = wrong_of(code, page);
    EXPECT_EQ(found.codes[0], code) << found.text;
  }
}

TEST(Explanations, TheRightProgramIsProved) {
  for (const auto& [code, page] : embedded_explanations()) {
    const std::string right = block(page, code[0] == 'L' ? "Better:" : "Right:");
    if (right.empty()) continue;
    const Outcome found = outcome(right);
    EXPECT_TRUE(found.codes.empty()) << code << ", right:\n" << found.text;
    EXPECT_EQ(found.verdict, Verdict::proved) << code;
  }
}

}  // namespace
}  // namespace shardproof
