// Every file that the project ships reads without a word, and reads the same after it was printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> result;
  const std::filesystem::path root = std::filesystem::path(SHARDPROOF_SOURCE_DIR) / folder;
  if (!std::filesystem::exists(root)) return result;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".shard") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string messages(const Sources& sources, const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    const LineColumn place = sources.locate(diagnostic.range.file, diagnostic.range.begin);
    text += std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
            diagnostic.code + ": " + diagnostic.message + "\n";
  }
  return text;
}

void expect_round_trip(const std::string& name, const std::string& text) {
  SCOPED_TRACE(name);
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const File first = parse(sources, sources.add(name, text), diagnostics);
  ASSERT_EQ(messages(sources, diagnostics), "");
  const std::string printed = print(first);
  const File second = parse(sources, sources.add(name + " printed", printed), diagnostics);
  ASSERT_EQ(messages(sources, diagnostics), "") << printed;
  EXPECT_TRUE(same(first, second)) << printed;
  EXPECT_EQ(print(second), printed);
}

TEST(RoundTrip, Library) {
  const auto files = files_in("spec/lib");
  EXPECT_GE(files.size(), 6u);
  for (const auto& path : files) expect_round_trip(path.string(), read(path));
}

TEST(RoundTrip, Models) {
  for (const auto& path : files_in("spec/models")) expect_round_trip(path.string(), read(path));
}

}  // namespace
}  // namespace shardproof::syntax
