// Every single edit of a proved plan is refused, or is harmless: what the checker shows equal is
// equal on every mesh where it is run. A sample of the edits; all of them with SHARDPROOF_FULL=1.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "properties/faults/dear.h"
#include "properties/faults/tally.h"
#include "properties/generators/shard_files.h"

namespace shardproof::faults {
namespace {

bool full() { return std::getenv("SHARDPROOF_FULL") != nullptr; }

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> paths = properties::shard_files({SHARDPROOF_SOURCE_DIR + folder});
  if (!full()) std::erase_if(paths, dear);
  return paths;
}

void holds(const Tally& tally) {
  std::cout << table(tally);
  const Row all = tally.total();
  EXPECT_EQ(all.survived, 0u);
  EXPECT_GT(all.made, 100u);
  EXPECT_GE(4 * all.count(Outcome::by_algebra), all.refused());
}

TEST(NoFaultSurvives, OfTheModels) {
  Tally tally;
  for (const std::string& file : files("/spec/models"))
    plant(std::filesystem::path(file).filename().string(), file, {.each = full() ? 0u : 1u}, {},
          tally);
  holds(tally);
}

TEST(NoFaultSurvives, OfTheGoldenFiles) {
  Tally tally;
  for (const std::string& file : files("/spec/tests"))
    plant(std::filesystem::path(file).parent_path().filename().string(), file,
          {.each = full() ? 0u : 1u}, {}, tally);
  holds(tally);
}

}  // namespace
}  // namespace shardproof::faults
