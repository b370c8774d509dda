#include "spec/syntax/format.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardproof::syntax {
namespace {

TEST(Format, IndentsByBraces) {
  EXPECT_EQ(formatted("dim B\n\n\n\nfn f(x: f32[B])   \n        -> f32[B] {\n  # twice\n\ty = x +\n"
                      "\t    x\nreturn y\n  }\n\n"),
            "dim B\n\nfn f(x: f32[B])\n        -> f32[B] {\n  # twice\n    y = x +\n        x\n"
            "    return y\n}\n");
}
TEST(Format, CommentsMoveWithWhatIsBelow) {
  EXPECT_EQ(formatted("dim B\r\nfn f(x: f32[B]) -> f32[B] {\n  # one\n\n  # two\n  return x\n}"),
            "dim B\nfn f(x: f32[B]) -> f32[B] {\n    # one\n\n    # two\n    return x\n}\n");
}
TEST(Format, RefusesWhatCannotBeRead) { EXPECT_EQ(formatted("fn f( {\n"), std::nullopt); }
TEST(Format, AlignmentInsideOfLinesStays) {
  const std::string text = "dim B\nconst eps  = 1e-6   # small\n";
  EXPECT_EQ(formatted(text), text);
}

TEST(Format, FilesOfTheRepositoryAreFormatted) {
  namespace fs = std::filesystem;
  for (const char* folder : {"spec/lib", "spec/models", "spec/tests", "impl", "spec/python"})
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(SHARDPROOF_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".shard") continue;
      std::ifstream stream(entry.path());
      std::stringstream text;
      text << stream.rdbuf();
      const auto result = formatted(text.str());
      if (!result) continue;  // its syntax error is what it tests
      EXPECT_EQ(*result, text.str()) << entry.path();
    }
}

}  // namespace
}  // namespace shardproof::syntax
