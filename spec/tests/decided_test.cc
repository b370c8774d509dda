// spec/algebra/README.md says what is decided, tried and not decided: each of its examples is
// checked.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "spec/prove/prove.h"

namespace shardproof {
namespace {

/// A section of the page: the examples that its table names, and the program below it.
struct Section {
  std::set<std::string> named;
  std::string program;
};

std::map<std::string, Section> sections() {
  std::ifstream in(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/algebra/README.md");
  std::map<std::string, Section> result;
  std::string title;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
    } else if (inside) {
      result[title].program += line + "\n";
    } else if (line.rfind("## ", 0) == 0) {
      title = line.substr(3);
    } else if (line.rfind("| ", 0) == 0) {
      const size_t begin = line.find(" | ") + 3;
      std::istringstream example(line.substr(begin, line.find(" |", begin) - begin));
      for (std::string part; std::getline(example, part, '`') && std::getline(example, part, '`');)
        result[title].named.insert(part);
    }
  }
  return result;
}

/// The verdicts at the ends of lines, by plan.
std::map<std::string, std::string> verdicts(const std::string& program) {
  std::map<std::string, std::string> result;
  std::istringstream lines(program);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("plan ", 0) != 0) continue;
    const size_t mark = line.find("# ");
    result[line.substr(5, line.find(' ', 5) - 5)] =
        mark == std::string::npos ? "" : line.substr(mark + 2);
  }
  return result;
}

class Decided : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sections, Decided, testing::Values("Decided", "Tried", "Not decided"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase(name, ' ');
                           return name;
                         });

TEST_P(Decided, EachExampleHasItsVerdict) {
  const Section section = sections()[GetParam()];
  Sources sources;
  const auto reader = [&](const std::string&) { return std::optional(section.program); };
  CheckedProgram checked = check(sources, "README.shard", reader);
  prove(checked);
  const auto expected = verdicts(section.program);
  ASSERT_EQ(checked.plans().size(), expected.size());
  EXPECT_GT(expected.size(), 5u);
  std::set<std::string> models;
  for (const PlanReport& plan : checked.plans()) {
    EXPECT_EQ(to_string(plan.verdict), expected.at(plan.name)) << plan.name;
    const bool proves = std::string(GetParam()) != "Not decided";
    EXPECT_EQ(plan.verdict == Verdict::proved, proves) << plan.name;
    models.insert(plan.claim.substr(plan.claim.find(' ') + 1));
  }
  for (const std::string& name : section.named) {
    if (name.rfind("equal/", 0) == 0)
      EXPECT_TRUE(
          std::ifstream(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/tests/" + name + ".shard"))
          << name;
    else
      EXPECT_EQ(models.erase(name), 1u) << "no pair `" << name << "`";
  }
  EXPECT_TRUE(models.empty()) << *models.begin() << " is in no row";
}

}  // namespace
}  // namespace shardproof
