#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "impl/comm/store/store.h"

namespace shardproof {
namespace {

namespace fs = std::filesystem;

/// A file name for a key: letters and digits stay, all else becomes %xx.
std::string file_name(const std::string& text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string name;
  for (const unsigned char c : text)
    if (std::isalnum(c))
      name += static_cast<char>(c);
    else
      name += {'%', digits[c / 16], digits[c % 16]};
  return name;
}

/// A value is a file that is created atomically, by rename or link.
class FileStore : public Store {
 public:
  FileStore(const std::string& folder, const std::string& run) {
    if (run.empty())
      throw CommError(
          -1, "the run has no name, so that files of an earlier run in " + folder + " would count");
    folder_ = fs::path(folder) / ("run-" + file_name(run));
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw CommError(-1, folder_.string() + ": " + error.message());
  }

  void set(const std::string& key, const std::string& bytes) override {
    const fs::path made = written(bytes);
    if (std::rename(made.c_str(), path(key).c_str()) != 0) fail("renaming", made);
  }
  bool add(const std::string& key, const std::string& bytes) override {
    const fs::path made = written(bytes);
    const int code = link(made.c_str(), path(key).c_str()), reason = errno;
    unlink(made.c_str());
    errno = reason;
    if (code != 0 && reason != EEXIST) fail("linking", path(key));
    return code == 0;
  }
  std::optional<std::string> find(const std::string& key) override;

 private:
  fs::path path(const std::string& key) const { return folder_ / file_name(key); }
  fs::path written(const std::string& bytes);
  [[noreturn]] static void fail(const std::string& doing, const fs::path& file) {
    throw CommError(-1, doing + " " + file.string() + ": " + std::strerror(errno));
  }

  fs::path folder_;
};

std::optional<std::string> FileStore::find(const std::string& key) {
  std::ifstream file(path(key), std::ios::binary);
  if (!file && !fs::is_directory(folder_)) fail("reading", folder_);
  if (!file) return std::nullopt;
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail("reading", path(key));
  return bytes;
}

/// Writes to a file that no other process on any machine uses; its name differs from every key's.
fs::path FileStore::written(const std::string& bytes) {
  static std::atomic<int> count = 0;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const fs::path file = folder_ / (".new-" + file_name(host) + "-" + std::to_string(getpid()) +
                                   "-" + std::to_string(count++));
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
  if (!out) fail("writing", file);
  return file;
}

}  // namespace

std::unique_ptr<Store> file_store(const std::string& folder, const std::string& run) {
  return std::make_unique<FileStore>(folder, run);
}

}  // namespace shardproof
