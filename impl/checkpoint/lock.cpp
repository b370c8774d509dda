#include "impl/checkpoint/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "impl/file_error.h"

namespace shardproof::checkpoint {
namespace {

std::string owner() {
  char host[256] = "", time[32] = "";
  ::gethostname(host, sizeof host - 1);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(time, sizeof time, "%F %T UTC", ::gmtime_r(&now, &utc));
  return "process " + std::to_string(::getpid()) + " on " + host + " since " + time;
}

/// The text that the other run wrote, or is about to write.
std::string written_in(int descriptor) {
  char text[512];
  const ssize_t got = ::pread(descriptor, text, sizeof text, 0);
  return got > 0 ? std::string(text, static_cast<size_t>(got)) : "another process";
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(folder.string() + ": cannot be made: " + error.message());
  const std::filesystem::path path = folder / ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor_ < 0)
    throw FileError(path.string() + ": cannot be opened: " + std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    const std::string other = written_in(descriptor_);
    ::close(descriptor_);
    throw FileError(why == EWOULDBLOCK
                        ? folder.string() + ": " + other +
                              " writes here: wait for it, or name another folder"
                        : path.string() + ": cannot be locked: " + std::strerror(why));
  }
  const std::string text = owner();
  const bool named =
      ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, text.data(), text.size(), 0) > 0;
  static_cast<void>(named);  // on a full disk the lock has no name
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace shardproof::checkpoint
