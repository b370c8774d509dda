// spec/tests/syntax: for each production texts that break it, with `# expect CODE ...` at the end
// of the line where the error is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "spec/syntax/test_support.h"

namespace shardproof::syntax {
namespace {

using Places = std::set<std::pair<int, std::string>>;

Places expected(const std::string& text) {
  Places result;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string mark = "# expect ";
    const size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    std::istringstream codes(line.substr(at + mark.size()));
    for (std::string code; codes >> code;) result.emplace(number, code);
  }
  return result;
}

Places told(const Sources& sources, const std::vector<Diagnostic>& diagnostics) {
  Places result;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::error) continue;
    result.emplace(sources.locate(diagnostic.range.file, diagnostic.range.begin).line,
                   diagnostic.code);
  }
  return result;
}

class Golden : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, TellsExactlyWhatIsExpected) {
  const std::string text = read(GetParam());
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const File file = parse(sources, sources.add(GetParam().string(), text), diagnostics);
  PatternReader(diagnostics).read(file);
  EXPECT_EQ(told(sources, diagnostics), expected(text));
  EXPECT_FALSE(expected(text).empty());
  for (const Diagnostic& diagnostic : diagnostics) {
    EXPECT_FALSE(diagnostic.message.empty());
    EXPECT_EQ(diagnostic.severity, Severity::error) << "one file has more errors than are shown";
    EXPECT_EQ(info(diagnostic.code).verdict, Verdict::invalid);
  }
}

/// The examples of helps such as "write it as in `dim B M`, `dim H = (K D)`".
std::vector<std::string> examples(const std::string& help) {
  const std::string words = "write it as in `", between = "`, `";
  std::vector<std::string> result;
  if (!help.starts_with(words)) return result;
  std::string left = help.substr(words.size(), help.size() - words.size() - 1);
  for (size_t end; (end = left.find(between)) != std::string::npos;
       left.erase(0, end + between.size()))
    result.push_back(left.substr(0, end));
  result.push_back(left);
  return result;
}

/// Whether the text can be read as a part of a file: a declaration, a statement, a type, ...
bool can_be_read(const std::string& example) {
  const auto around = [&](const std::string& before, const std::string& after) {
    Sources sources;
    std::vector<Diagnostic> diagnostics;
    const File file = parse(sources, sources.add("", before + example + after), diagnostics);
    PatternReader(diagnostics).read(file);
    return diagnostics.empty();
  };
  const std::string body = "fn f(x: f32[M]) -> f32[M] {\n    ";
  return around("", "\n") || around(body, "\n}\n") || around(body + "y = ", "\n}\n") ||
         around("fn f(x: ", ") -> f32[M] { return x }\n") || around("fn f", " -> f32[M] { }\n") ||
         around("plan f ", "(x: f32[M]) -> f32[M] { }\n") || around("fn f() ", " { }\n") ||
         around("schedule s { ", " }\n") || around(body + "y = sum(\"", "\", x)\n}\n");
}

TEST(Helps, HaveExamplesThatCanBeRead) {
  std::set<std::string> seen;
  for (const auto& path : files_in("spec/tests/syntax")) {
    Sources sources;
    std::vector<Diagnostic> diagnostics;
    const File file = parse(sources, sources.add(path.string(), read(path)), diagnostics);
    PatternReader(diagnostics).read(file);
    for (const Diagnostic& diagnostic : diagnostics)
      for (const Fix& fix : diagnostic.fixes)
        for (const std::string& example : examples(fix.message))
          EXPECT_TRUE(!seen.insert(example).second || can_be_read(example)) << example;
  }
  EXPECT_GE(seen.size(), 40u);
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Syntax, Golden, testing::ValuesIn(files_in("spec/tests/syntax")), name_of);

// The grammar's productions; a new one needs a file of texts that break it.
TEST(Goldens, EveryProductionHasOne) {
  const char* productions[] = {
      "file",    "import",  "mesh",    "dim",     "const",    "require", "assume",   "config",
      "record",  "layout",  "fields",  "group",   "fn",       "plan",    "trusted",  "target",
      "wrt",     "param",   "results", "type",    "dims",     "split",   "marks",    "block",
      "bind",    "loop",    "scan",    "ring",    "stages",   "carries", "names",    "exprs",
      "expr",    "conj",    "neg",     "compare", "sum",      "term",    "unary",    "postfix",
      "atom",    "each",    "grad",    "zeros",   "args",     "arg",     "schedule", "steps",
      "let",     "for",     "pattern", "operand", "pipeline", "number",  "string",   "character",
      "nesting", "reserved"};
  std::set<std::string> present;
  for (const auto& path : files_in("spec/tests/syntax")) present.insert(path.stem().string());
  for (const char* production : productions) EXPECT_TRUE(present.count(production)) << production;
}

}  // namespace
}  // namespace shardproof::syntax
