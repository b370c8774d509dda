// A model whose sizes are numbers is proved like the one with symbols, and a wrong one is not.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "spec/check/check.h"
#include "spec/check/fixed_sizes.h"

namespace shardproof {
namespace concrete_sizes_test {

struct Answer {
  std::vector<std::string> verdicts;     ///< by plan
  std::vector<std::string> assumptions;  ///< of the first plan
};

std::string model(const std::string& name) {
  std::ifstream in(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The text with its open dims, `dim B L`, at these sizes in turn.
std::string with_sizes(const std::string& text, const std::vector<int>& sizes) {
  static const std::regex open("dim(( +\\w+)+) *(#.*)?");
  std::istringstream lines(text);
  std::string result;
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, open)) {
      result += line + "\n";
      continue;
    }
    std::istringstream names(match[1]);
    for (std::string name; names >> name;)
      result += "dim " + name + " = " + std::to_string(sizes[count++ % sizes.size()]) + "\n";
  }
  EXPECT_GT(count, 0u) << text;
  return result;
}

/// The verdicts of a text. What it imports from the models has these sizes too.
Answer answer(const std::string& text, const std::vector<int>& sizes = {}) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  options.patience = 20;
  const FileReader reader = [&](const std::string& path) {
    const std::string imported = path == "plan.shard" ? text : model(path);
    return std::optional(sizes.empty() ? imported : with_sizes(imported, sizes));
  };
  const CheckedProgram checked = check(sources, "plan.shard", reader, options);
  Answer result;
  result.assumptions = checked.plans().front().assumptions;
  for (const PlanReport& plan : checked.plans()) result.verdicts.push_back(to_string(plan.verdict));
  return result;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

class ConcreteSizes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, ConcreteSizes,
                         testing::Values("dit", "gpt2_decode", "gqa", "lora", "megatron_switch"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(ConcreteSizes, AreProvedLikeSymbols) {
  const std::string text = model(std::string(GetParam()) + ".shard");
  const Answer symbols = answer(text);
  for (const std::vector<int>& sizes : {std::vector<int>{8}, {16, 8, 32, 24}}) {
    const Answer numbers = answer(text, sizes);
    EXPECT_EQ(numbers.verdicts, symbols.verdicts) << "sizes of " << sizes[0];
  }
}

/// |A| <= |L| and 0 <= at <= |L| - |A|: sizes that are compared are symbols too, where that
/// suffices.
TEST(ConcreteSizes, MayBeCompared) {
  const std::string text = model("deepseek2_decode.shard");
  EXPECT_EQ(answer(text, {8}).verdicts, answer(text).verdicts);
}

TEST(ConcreteSizes, DoNotHideAWrongPlan) {
  const std::string lora = replaced(model("lora.shard"), "h   = silu(u + lu * (alpha / |R|))",
                                    "h   = silu(u + lu * (alpha / |B|))");
  EXPECT_NE(answer(lora, {12, 8, 6, 24, 4}).verdicts, answer(model("lora.shard")).verdicts);
}

/// |B| and |R| are the same number: what is wrong at all other sizes is right at these.
TEST(ConcreteSizes, MayBeWhatMakesAPlanRight) {
  const std::string text = R"(
mesh d
dim B R
fn f(x: f32[B R]) -> f32[B R] { return x / |R| }
plan f_d implements f(x: f32[B/d R]) -> f32[B/d R] { return x / |B| }
)";
  EXPECT_EQ(answer(text, {8}).verdicts, std::vector<std::string>{"proved"});
  EXPECT_EQ(answer(text, {8, 4}).verdicts, std::vector<std::string>{"refuted"});
  EXPECT_EQ(answer(text).verdicts, std::vector<std::string>{"refuted"});
}

/// A number that a size of 8 explains: no run at a smaller size contradicts the proof.
TEST(ConcreteSizes, AreNumbersWhereNothingReadsThem) {
  const std::string text = R"(
mesh d
dim B L K V
fn f(x: f32[B L K V]) -> f32[B] { return sum("B L K V -> B", x / sum("V ->", expand("-> V", f32(1.0)))) }
plan f_d implements f(x: f32[B/d L K V]) -> f32[B/d] { return sum("B/d L K V -> B/d", x) / 8 }
)";
  EXPECT_EQ(answer(text, {8}).verdicts, std::vector<std::string>{"proved"});
  EXPECT_NE(answer(text, {12}).verdicts, std::vector<std::string>{"proved"});
}

/// A concat whose pieces fill the whole at these sizes only, a read behind a number.
TEST(ConcreteSizes, StayWhereSlicesNeedThem) {
  const std::string text = R"(
mesh d
dim B
dim L = 4
dim C = 6
dim P = 10
fn f(x: f32[B L], y: f32[B C]) -> f32[B] { return sum("B P -> B", concat("B L, B C -> B [P]", x, y)) }
plan f_d implements f(x: f32[B/d L], y: f32[B/d C]) -> f32[B/d] {
    return sum("B/d L -> B/d", x) + sum("B/d C -> B/d", y)
}
plan f_wrong implements f(x: f32[B/d L], y: f32[B/d C]) -> f32[B/d] {
    return sum("B/d L -> B/d", x) + read("B/d [C] -> B/d", y, at=5)
}
fn g(z: f32[B P]) -> f32[B P] { return z }
plan g_d implements g(z: f32[B/d P]) -> f32[B/d P] { return roll("B/d [P]", roll("B/d [P]", z, by=1), by=-1) }
plan g_ten implements g(z: f32[B/d P]) -> f32[B/d P] { return roll("B/d [P]", z, by=10) }
plan g_wrong implements g(z: f32[B/d P]) -> f32[B/d P] { return roll("B/d [P]", z, by=2) }
)";
  const std::vector<std::string> expected = {"proved", "refuted", "proved", "proved", "refuted"};
  EXPECT_EQ(answer(text, {8}).verdicts, expected);
}

/// No value is above |M| and below 5; at a smaller size there are some.
TEST(ConcreteSizes, BoundTheValuesThatAreAssumed) {
  const std::string text = R"(
mesh d
dim B M
fn f(x: f32[B M]) -> f32[B M] {
    assume x > |M|
    return log(5 - x)
}
plan f_d implements f(x: f32[B/d M]) -> f32[B/d M] { return 1 * log(5 - x) }
)";
  EXPECT_EQ(answer(text, {3}).verdicts, std::vector<std::string>{"proved"});
  for (int size : {8, 64})
    EXPECT_EQ(answer(text, {8, size}).verdicts, std::vector<std::string>{"unknown"}) << size;
}

/// What is assumed of sizes is known where they are numbers.
TEST(ConcreteSizes, AreNotAssumed) {
  const std::string text = R"(
mesh d
dim B L D
fn f(x: f32[B L D], p: i32[L]) -> f32[B L D] { return rope("B L D; L D", x, p) }
plan f_d implements f(x: f32[B/d L D], p: i32[L]) -> f32[B/d L D] { return rope("B/d L D; L D", x, p) }
)";
  EXPECT_EQ(answer(text).assumptions, std::vector<std::string>{"|D| / 2 is a whole number"});
  EXPECT_EQ(answer(text, {8}).assumptions, std::vector<std::string>{});
  EXPECT_NE(answer(text, {8, 8, 7}).verdicts, std::vector<std::string>{"proved"});
}

/// Otherwise a file with a size takes time that grows with the square of its plans.
TEST(ConcreteSizes, AProgramWithOpenSizesHasTheFunctionsOfTheOther) {
  Sources sources;
  const CheckedProgram checked = check(sources, "sizes.shard", [](const std::string&) {
    return "dim B\ndim P = 2\nfn f(x: f32[B P]) -> f32[B P] { return x }";
  });
  const ir::Program& program = checked.program();
  ASSERT_EQ(program.functions.size(), 1u);
  const FixedSizes size{{"P"}, {}};
  ir::Program open = with_open_sizes(program, size);
  EXPECT_FALSE(open.dims.at("P").size);
  EXPECT_EQ(open.functions.data(), program.functions.data());
  open.functions.own()[0].name = "g";
  EXPECT_EQ(program.functions[0].name, "f");
  EXPECT_EQ(open.functions[0].name, "g");
}

}  // namespace concrete_sizes_test
}  // namespace shardproof
