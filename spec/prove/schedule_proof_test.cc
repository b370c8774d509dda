// The library's schedules are right at all sizes; one that deadlocks, or does work twice or
// too late at some size is not proved, whatever times it states.
#include "spec/prove/schedule_proof.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

std::string library() {
  std::ifstream in(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/lib/schedules.shard");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

ScheduleProof proof_of(const std::string& text, const std::string& name) {
  Sources sources;
  const int32_t file = sources.add("test.shard", text);
  std::vector<Diagnostic> diagnostics;
  const syntax::File tree = syntax::parse(sources, file, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  smt::Solver solver;
  for (const auto& each : tree.declarations)
    if (auto* found = std::get_if<syntax::ScheduleDecl>(&each); found && found->name == name)
      return prove_schedule(*found, solver);
  throw std::runtime_error("no schedule " + name);
}

/// Each of them: the report on a pipeline rests on this.
TEST(ScheduleProof, TheLibrarysAreRightAtAllSizes) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const syntax::File tree =
      syntax::parse(sources, sources.add("test.shard", library()), diagnostics);
  smt::Solver solver;
  size_t count = 0;
  for (const auto& each : tree.declarations) {
    const auto& schedule = std::get<syntax::ScheduleDecl>(each);
    const ScheduleProof proof = prove_schedule(schedule, solver);
    EXPECT_TRUE(proof.proved) << schedule.name << ": " << proof.open;
    EXPECT_GT(proof.claims, 10u) << schedule.name;
    ++count;
  }
  EXPECT_GE(count, 4u);
}

/// Written out, the times of such a schedule have 2^60 parts.
TEST(ScheduleProof, TimesThatDoubleAreLeftOpen) {
  const auto with = [](int count, const std::string& call) {
    std::string text = "schedule s {\n    let g0(x) = x\n";
    for (int i = 1; i <= count; ++i)
      text += "    let g" + std::to_string(i) +
              "(x) = " + std::regex_replace(call, std::regex("g"), "g" + std::to_string(i - 1)) +
              "\n";
    const std::string last = "g" + std::to_string(count);
    return text + "    let time_F(k) = " + last + "(s + k)\n    let time_B(k) = " + last +
           "(A + 2 * p + k)\n    for m in 0 .. A { F(m) }\n    for m in 0 .. A { B(m) }\n}\n";
  };
  EXPECT_NE(proof_of(with(60, "g(g(x))"), "s").open.find("parts"), std::string::npos);
  EXPECT_NE(proof_of(with(20000, "g(x)"), "s").open.find("200 deep"), std::string::npos);
}

struct Change {
  std::string schedule, from, to;
};

TEST(ScheduleProof, AWrongOneIsNotProved) {
  const std::vector<Change> changes = {
      {"gpipe", "    for m in 0 .. A { B(m) }\n}", "    for m in 1 .. A { B(m) }\n}"},
      {"gpipe", "s + k\n", "k\n"},
      {"gpipe", "A + 2 * p - 2 - s + k", "A + 2 * p - 3 - s + k"},
      {"one_f_one_b", "for m in 0 .. A - w { F(m + w) B(m) }",
       "for m in 0 .. A - w { B(m) F(m + w) }"},
      {"one_f_one_b", "let w = min(p - 1 - s, A)", "let w = min(p - s, A)"},
      {"one_f_one_b", "let w = min(p - 1 - s, A)", "let w = p - 1 - s"},
      {"one_f_one_b", "F(m + w) B(m)", "F(m + w) B(m + 1)"},
      {"one_f_one_b", "let time_B(k) = 2 * k + 2 * p - 1 - s", ""},
      {"interleaved", "require A % p == 0 or C == 1\n", "\n"},
      {"interleaved", "require A % p == 0 or C == 1\n", "require A >= p\n"},
      {"interleaved", "(p - s - 1) * 2 + (C - 1) * p", "(p - s - 1) * 2 + (C - 2) * p"},
      {"interleaved", "(p - s - 1) * 2 + (C - 1) * p", "(p - s - 1) + (C - 1) * p"},
      {"interleaved", "C - 1 - c(k)) }\n    for k in total", "c(k)) }\n    for k in total"},
      {"interleaved", "k // p % C", "k % C"},
      {"zero_bubble", "let v = min(s, A - w)", "let v = s"},
      {"zero_bubble", "for m in A - v .. A { W(m) }", "for m in A - w .. A { W(m) }"},
      {"zero_bubble", "3 * (k + v) + 2 * p - s", "3 * (k + s) + 2 * p - s"},
      {"zero_bubble", "F(m + w) B(m) W(m - v)", "F(m + w) W(m - v) B(m)"},
  };
  for (const Change& change : changes) {
    std::string text = library();
    const size_t begin = text.find("schedule " + change.schedule);
    const size_t at = text.find(change.from, begin);
    ASSERT_NE(at, std::string::npos) << change.from;
    text.replace(at, change.from.size(), change.to);
    EXPECT_FALSE(proof_of(text, change.schedule).proved) << change.to;
  }
}

std::string timed(const std::string& middle, const std::string& forwards,
                  const std::string& end = "") {
  return "schedule mine {\n    let time_F(k) = s + k\n    let time_B(k) = A + 2 * p - 2 - s + k\n" +
         middle + "    for j in 0 .. " + forwards + "\n    for m in 0 .. A { B(m) }\n" + end +
         "}\n";
}

/// In a run, a name means its last declaration above.
TEST(ScheduleProof, ANameThatIsDeclaredTwiceIsLeftOpen) {
  EXPECT_TRUE(proof_of(timed("", "A { F(j) }"), "mine").proved);
  const std::string twice = "    let id(x) = x\n";
  EXPECT_FALSE(
      proof_of(timed(twice, "A { F(id(j + 0) + j // 100) }", "    let j = 0\n"), "mine").proved);
  EXPECT_FALSE(proof_of(timed("    let n = A\n    let n = 1\n", "n { F(j) }"), "mine").proved);
}

TEST(ScheduleProof, MinimaOfDigitsThatReadAlikeDiffer) {
  const std::string one = "    let t = min(1, 10) + min(11, 0)\n";
  EXPECT_FALSE(proof_of(timed(one, "max(min(A, 64), A - 1000000 * t) { F(j) }"), "mine").proved);
}

}  // namespace
}  // namespace shardproof
