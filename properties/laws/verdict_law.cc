// A verdict does not change when values are renamed, independent lines change places, summands and
// factors are commuted, or every sub-plan is inlined. On every model, and on every golden file that
// is proved or refuted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "properties/generators/rewrite.h"
#include "properties/generators/shard_files.h"
#include "spec/check/check.h"

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

std::string verdicts(const std::string& path, const FileReader& reader, bool inline_plans) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  options.inline_plans = inline_plans;
  const CheckedProgram checked = check(sources, path, reader, options);
  std::string text;
  for (const PlanReport& plan : checked.plans())
    text += plan.name + ": " + to_string(plan.verdict) + "\n";
  return text;
}

/// `path` rewritten; imports are read from disk as they are.
FileReader rewritten(const std::string& path, const properties::Rewrite& rewrite, unsigned seed) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  syntax::File file =
      syntax::parse(sources, sources.add(path, disk_reader()(path).value()), diagnostics);
  if (!diagnostics.empty()) return disk_reader();
  std::mt19937 rng(seed);
  rewrite(file, rng);
  return
      [path, text = syntax::print(file)](const std::string& wanted) -> std::optional<std::string> {
        return wanted == path ? text : disk_reader()(wanted);
      };
}

class Verdicts : public testing::TestWithParam<std::string> {};

TEST_P(Verdicts, StandWhenValuesAreRenamed) {
  const std::string before = verdicts(GetParam(), disk_reader(), false);
  EXPECT_EQ(verdicts(GetParam(), rewritten(GetParam(), properties::rename_values, 1), false),
            before);
}

TEST_P(Verdicts, StandWhenIndependentLinesChangePlaces) {
  const std::string before = verdicts(GetParam(), disk_reader(), false);
  for (unsigned seed : {1u, 2u})
    EXPECT_EQ(verdicts(GetParam(), rewritten(GetParam(), properties::swap_independent_lines, seed),
                       false),
              before);
}

TEST_P(Verdicts, StandWhenSummandsAndFactorsAreCommuted) {
  const std::string before = verdicts(GetParam(), disk_reader(), false);
  for (unsigned seed : {1u, 2u})
    EXPECT_EQ(verdicts(GetParam(), rewritten(GetParam(), properties::commute, seed), false),
              before);
}

TEST_P(Verdicts, StandWhenEverySubPlanIsInlined) {
  EXPECT_EQ(verdicts(GetParam(), disk_reader(), true), verdicts(GetParam(), disk_reader(), false));
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
