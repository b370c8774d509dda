// Whole files resolve, and what they resolve to.
#include "spec/resolve/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "spec/resolve/dump.h"

namespace shardproof {
namespace {

std::string show(const Sources& sources, const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) {
    text += d.code + " ";
    if (d.range.file >= 0) {
      const LineColumn at = sources.locate(d.range.file, d.range.begin);
      text += sources.file(d.range.file).path + ":" + std::to_string(at.line) + ":" +
              std::to_string(at.column);
    }
    text += " " + d.message + "\n";
  }
  return text;
}

TEST(Resolve, every_model_resolves) {
  std::vector<std::filesystem::path> folders = {std::filesystem::path(SHARDPROOF_SOURCE_DIR) /
                                                "spec/models"};
  if (const char* more = std::getenv("SHARDPROOF_MODELS")) folders.emplace_back(more);
  for (const auto& folder : folders) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".shard") continue;
      Sources sources;
      std::vector<Diagnostic> diagnostics;
      const Resolved resolved = resolve(sources, entry.path().string(), disk_reader(), diagnostics);
      EXPECT_TRUE(resolved.readable) << entry.path();
      EXPECT_EQ(show(sources, diagnostics), "") << entry.path();
      if (std::getenv("SHARDPROOF_DUMP"))
        for (const ir::Function& function : resolved.program.functions)
          std::cout << dump(resolved.program, function);
    }
  }
}

}  // namespace
}  // namespace shardproof
