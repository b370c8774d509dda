// A verdict does not change when values are renamed, independent lines change places, summands and
// factors are commuted, or every sub-plan is inlined. On every model, and on every golden file that
// is proved or refuted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "properties/generators/rewrite.h"
#include "properties/generators/shard_files.h"
#include "spec/check/check.h"
#include "spec/laws/holds.h"

namespace shardproof {
namespace {

/// Gradients take seconds a file: without SHARDPROOF_FULL three small models stand for them.
bool left_out(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  if (std::getenv("SHARDPROOF_FULL") || name == "pairwise_ffn" || name == "data_parallel" ||
      name == "token_counts")
    return false;
  return disk_reader()(path).value().find("grad(") != std::string::npos;
}

/// Not the files that cannot be read as programs: their lines depend on nothing.
std::vector<std::string> models() {
  std::vector<std::string> paths = properties::shard_files(
      {SHARDPROOF_SOURCE_DIR "/spec/models", SHARDPROOF_SOURCE_DIR "/spec/tests"},
      {"/syntax/", "/impossible/"});
  std::erase_if(paths, left_out);
  return paths;
}

std::vector<PlanReport> reports(const std::string& path, bool inline_plans,
                                const FileReader& reader = disk_reader()) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  options.inline_plans = inline_plans;
  return check(sources, path, reader, options).plans();
}

std::string verdicts(const std::string& path, const FileReader& reader) {
  std::string text;
  for (const PlanReport& plan : reports(path, false, reader))
    text += plan.name + ": " + to_string(plan.verdict) + "\n";
  return text;
}

/// Whether a plan that it calls is wrong: then it is not compared, unless that one is inlined.
bool waits(const PlanReport& plan) {
  return std::any_of(plan.diagnostics.begin(), plan.diagnostics.end(),
                     [](const Diagnostic& each) { return each.code == "U0005"; });
}

/// The text of `path` rewritten; as it is if it cannot be read.
std::string rewritten(const std::string& path, const std::vector<properties::Rewrite>& rewrites) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const std::string text = disk_reader()(path).value();
  syntax::File file = syntax::parse(sources, sources.add(path, text), diagnostics);
  if (!diagnostics.empty()) return text;
  for (const properties::Rewrite& rewrite : rewrites) {
    laws::Dice dice(*laws::dice_words(400));
    rewrite(file, dice);
  }
  return syntax::print(file);
}

/// Reads `text` at `path`; imports are read from disk as they are.
FileReader reader_of(const std::string& path, const std::string& text) {
  return [path, text](const std::string& wanted) -> std::optional<std::string> {
    return wanted == path ? text : disk_reader()(wanted);
  };
}

/// One after the other, each with dice of its own. With SHARDPROOF_FULL each also stands alone.
const std::vector<properties::Rewrite> all_rewrites = {
    properties::rename_values, properties::swap_independent_lines, properties::commute};
std::vector<std::vector<properties::Rewrite>> tried() {
  std::vector<std::vector<properties::Rewrite>> result = {all_rewrites};
  if (std::getenv("SHARDPROOF_FULL"))
    for (const properties::Rewrite& each : all_rewrites) result.push_back({each});
  return result;
}

class Verdicts : public testing::TestWithParam<std::string> {};

/// What RapidCheck makes smaller is the number of rewritten places: prints the text with the
/// fewest.
TEST_P(Verdicts, StandWhenTheTextIsRewritten) {
  const std::string& path = GetParam();
  const std::string before = verdicts(path, disk_reader());
  for (const std::vector<properties::Rewrite>& rewrites : tried())
    EXPECT_TRUE(laws::holds("the verdict stands", 2, 10, [&] {
      const std::string text = rewritten(path, rewrites);
      RC_LOG(text);
      RC_ASSERT(verdicts(path, reader_of(path, text)) == before);
    }));
}

TEST_P(Verdicts, StandWhenEverySubPlanIsInlined) {
  const std::vector<PlanReport> apart = reports(GetParam(), false);
  const std::vector<PlanReport> inlined = reports(GetParam(), true);
  ASSERT_EQ(apart.size(), inlined.size());
  for (size_t i = 0; i < apart.size(); ++i)
    EXPECT_TRUE(waits(apart[i]) || inlined[i].verdict == apart[i].verdict) << apart[i].name;
}

INSTANTIATE_TEST_SUITE_P(Files, Verdicts, testing::ValuesIn(models()), [](const auto& info) {
  std::string name =
      std::filesystem::path(info.param).lexically_relative(SHARDPROOF_SOURCE_DIR).string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace shardproof
