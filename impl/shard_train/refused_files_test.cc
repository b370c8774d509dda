// Files that shard-train refuses: it names them, and waits for none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace shardproof::shard_train {
namespace {

using ::testing::HasSubstr;

struct Refused {
  int code;
  std::string text;
};

Refused refused(const std::string& flags) {
  const std::string command = "exec 2>&1; " SHARD_TRAIN " " SHARDPROOF_SOURCE_DIR
                              "/impl/shard_train/bigram.shard --config tiny --steps 1 " +
                              flags;
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (char buffer[4096]; size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
    text.append(buffer, got);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

/// A folder that is empty.
std::string empty_folder(const std::string& name) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("refused_" + name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

void expect_refused(const std::string& flags, const std::string& words) {
  const Refused run = refused(flags);
  EXPECT_EQ(run.code, 2) << flags;
  EXPECT_THAT(run.text, HasSubstr(words));
}

TEST(RefusedFiles, OneWithTooFewTokensIsNamed) {
  const std::string path = empty_folder("few") + "/few.txt";
  std::ofstream(path) << "a text";
  expect_refused("--data " + path, path + ": there are 6 tokens, too few");
}

TEST(RefusedFiles, OneWithoutACacheIsNamed) {
  const std::string path = SHARDPROOF_SOURCE_DIR "/spec/models/llama3.shard";
  expect_refused("--sample 4 --decode " + path, path + ": no plan extends a cache");
}

TEST(RefusedFiles, APipeThatNothingReadsIsNoLog) {
  const std::string path = empty_folder("pipe") + "/log";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  for (const std::string flag : {"--log ", "--plot ", "--report "})
    expect_refused(flag + path, path + ": cannot be written: nothing reads this pipe");
}

TEST(RefusedNumbers, NoneIsInfiniteOrNan) {
  for (const char* flag : {"--lr inf", "--lr nan", "--lr 1e400"})
    expect_refused(flag, "is not a number of at least 0");
  for (const char* flag : {"--validation nan", "--decay nan", "--lr-floor inf"})
    expect_refused(flag, "is not a number from 0 to ");
}

TEST(RefusedFiles, ADirectoryIsNoProgram) {
  const std::string path = empty_folder("program");
  expect_refused("--sample 4 --decode " + path, path + ": is a directory");
}

}  // namespace
}  // namespace shardproof::shard_train
