#include "spec/shell/writable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardproof::shell::writable {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() { fs::create_directories(folder_); }
  ~ReplaceFile() override { fs::remove_all(folder_); }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("writable_test." + std::to_string(::getpid()));
  const fs::path page_ = folder_ / "page.html";
};

TEST_F(ReplaceFile, TakesThePlaceOfTheOldOne) {
  EXPECT_EQ(replace_file(page_, "one"), "");
  fs::permissions(page_, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(replace_file(page_, "two"), "");
  EXPECT_EQ(text_of(page_), "two");
  EXPECT_EQ(fs::status(page_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplaceFile, AFullDiskLeavesWhatWasThere) {
  EXPECT_EQ(replace_file(page_, "old"), "");
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string why = replace_file(page_, std::string(100'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(why, "File too large");
  EXPECT_EQ(text_of(page_), "old");
  EXPECT_EQ(files(), 1u) << "a part is left";
}

TEST_F(ReplaceFile, ALinkStaysOneAndAPipeWithoutAReaderIsRefused) {
  fs::create_symlink(folder_ / "real.html", page_);
  for (const std::string text : {"made", "again"}) {
    EXPECT_EQ(replace_file(page_, text), "");
    EXPECT_TRUE(fs::is_symlink(page_));
    EXPECT_EQ(text_of(folder_ / "real.html"), text);
  }
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(replace_file(folder_ / "pipe", "x"), "nothing reads this pipe");
  EXPECT_EQ(replace_file(folder_ / "no" / "file", "x"), "No such file or directory");
}

}  // namespace
}  // namespace shardproof::shell::writable
