// Every golden file: the diagnostics are exactly those that its `# expect CODE` annotations state,
// at their lines, and a file without an annotation is proved. Every code of diagnostics.def has a
// failing example.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "spec/prove/prove.h"

namespace shardproof {
namespace {

using Expected = std::multiset<std::pair<int, std::string>>;  // line, code

std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const char* folder : {"/spec/models", "/spec/tests"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(SHARDPROOF_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".shard") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Expected annotations(const std::string& text) {
  Expected expected;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t at = line.find("# expect ");
    if (at == std::string::npos) continue;
    std::istringstream codes(line.substr(at + 9));
    for (std::string code; codes >> code;) expected.insert({number, code});
  }
  return expected;
}

/// The lines of an example from which nothing can be seen: every device ends with what is wanted,
/// or all together do.
std::string shows_nothing(const Counterexample& example) {
  const std::string mark = " on each: ";
  for (size_t i = 0; i + 1 < example.lines.size(); ++i) {
    const size_t at = example.lines[i].find(mark);
    if (at == std::string::npos) continue;
    std::string each = example.lines[i].substr(at + mark.size());
    const std::string& last = example.lines.back();
    const std::string wanted = last.substr(last.rfind(": ") + 2);
    for (const char* together : {", sum ", ", maximum ", ", put together "})
      if (each.ends_with(together + wanted)) return example.lines[i] + "\n" + last + "\n";
    for (size_t found; (found = each.find(wanted)) != std::string::npos;)
      each.erase(found, wanted.size());
    const bool nothing_else = each.find_first_of("0123456789-;[") == std::string::npos;
    if (nothing_else) return example.lines[i] + "\n" + last + "\n";
  }
  return "";
}

struct Found {
  Expected diagnostics;
  Verdict verdict;
  std::string elsewhere;  // diagnostics in other files
  std::string blank;      // examples that show no difference
  std::string unchecked;  // of a plan whose one error is E0205: fixes that do not prove it, or none
  std::string too_long;   // assumptions that nobody can read
};

Found found(const std::string& path) {
  Sources sources;
  CheckedProgram checked = check(sources, path, disk_reader());
  prove(checked);
  Found result{{}, checked.verdict(), "", "", "", ""};
  const auto add = [&](const Diagnostic& diagnostic) {
    if (diagnostic.counterexample) result.blank += shows_nothing(*diagnostic.counterexample);
    if (diagnostic.range.file < 0 || sources.file(diagnostic.range.file).path != path)
      result.elsewhere += diagnostic.code + " " + diagnostic.message + "\n";
    else
      result.diagnostics.insert(
          {sources.locate(diagnostic.range.file, diagnostic.range.begin).line, diagnostic.code});
  };
  for (const Diagnostic& diagnostic : checked.diagnostics()) add(diagnostic);
  for (const PlanReport& plan : checked.plans()) {
    for (const std::string& assumption : plan.assumptions)
      if (assumption.size() > 80) result.too_long += plan.name + ": " + assumption + "\n";
    for (const Diagnostic& diagnostic : plan.diagnostics) {
      add(diagnostic);
      if (diagnostic.code != "E0205" || plan.diagnostics.size() > 1) continue;
      if (diagnostic.fixes.empty()) result.unchecked += plan.name + " has no fix\n";
      for (const Fix& fix : diagnostic.fixes)
        if (!fix.checked) result.unchecked += plan.name + ": " + fix.message + "\n";
    }
  }
  return result;
}

std::string show(const Expected& diagnostics) {
  std::string text;
  for (const auto& [line, code] : diagnostics) text += std::to_string(line) + " " + code + "\n";
  return text;
}

/// Files of the parser alone have their own test, beside the parser.
std::vector<std::string> files_to_check() {
  std::vector<std::string> paths = files();
  std::erase_if(paths, [](const std::string& path) {
    return path.find("/tests/syntax/") != std::string::npos;
  });
  return paths;
}

/// Codes whose failing example is no file: a missing file and --strict (spec/cli), a bug of the
/// checker (spec/check).
const std::set<std::string> elsewhere = {"E0001", "U0004", "U0009", "U0010"};

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, IsAsAnnotated) {
  const Expected expected = annotations(disk_reader()(GetParam()).value());
  const Found actual = found(GetParam());
  EXPECT_EQ(show(actual.diagnostics), show(expected));
  EXPECT_EQ(actual.elsewhere, "");
  EXPECT_EQ(actual.blank, "");
  EXPECT_EQ(actual.unchecked, "");
  EXPECT_EQ(actual.too_long, "");
  const bool only_notes = std::all_of(expected.begin(), expected.end(),
                                      [](const auto& each) { return each.second[0] == 'L'; });
  if (only_notes) {
    EXPECT_STREQ(to_string(actual.verdict), "proved");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(files_to_check()), [](const auto& info) {
  std::string name =
      std::filesystem::path(info.param).lexically_relative(SHARDPROOF_SOURCE_DIR).string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Codes, EveryCodeHasAFailingExample) {
  std::set<std::string> seen;
  for (const std::string& path : files())
    for (const auto& [line, code] : annotations(disk_reader()(path).value())) seen.insert(code);
  for (const DiagnosticInfo& row : all_diagnostics())
    EXPECT_TRUE(seen.count(row.code) || elsewhere.count(row.code)) << row.code << ": " << row.title;
}

}  // namespace
}  // namespace shardproof
