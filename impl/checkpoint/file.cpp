#include "impl/checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "impl/checkpoint/checksum.h"

namespace shardproof::checkpoint {
namespace {

/// While it exists, exceeding the file size limit is an error in this thread, not a signal that
/// ends the process.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoSizeSignal() {
    const timespec now{0, 0};
    if (!sigismember(&before_, SIGXFSZ)) sigtimedwait(&signal_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_, before_;
};

}  // namespace

File::File(const std::filesystem::path& path, int flags, const char* doing)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_with_errno(doing);
}

File File::open(const std::filesystem::path& path) {
  File file(path, O_RDONLY | O_NONBLOCK, "cannot be opened");
  struct stat status;
  if (::fstat(file.descriptor_, &status) != 0) file.fail_with_errno("cannot be read");
  if (!S_ISREG(status.st_mode)) file.fail("is not a regular file");
  return file;
}

File File::create(const std::filesystem::path& path) {
  return File(path, O_WRONLY | O_CREAT | O_TRUNC, "cannot be made");
}

File File::open_to_write(const std::filesystem::path& path) {
  return File(path, O_WRONLY, "cannot be opened");
}

File File::folder(const std::filesystem::path& path) {
  return File(path, O_RDONLY | O_DIRECTORY, "cannot be opened");
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

uint64_t File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) fail_with_errno("cannot be read");
  return static_cast<uint64_t>(status.st_size);
}

void File::read(uint64_t offset, void* to, size_t bytes) const {
  for (char* at = static_cast<char*>(to); bytes;) {
    const ssize_t done = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with_errno("cannot be read");
    if (done == 0) fail("ends at byte " + std::to_string(offset) + ", before its data does");
    at += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
}

template <class Write>
void File::write_all(const void* from, size_t bytes, const Write& write_some) {
  const NoSizeSignal quiet;
  for (const char* at = static_cast<const char*>(from); bytes;) {
    const ssize_t done = write_some(at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with_errno("cannot be written");
    at += done;
    bytes -= static_cast<size_t>(done);
  }
}

void File::append(const void* from, size_t bytes) {
  write_all(from, bytes,
            [&](const char* at, size_t left) { return ::write(descriptor_, at, left); });
}

void File::write(uint64_t offset, const void* from, size_t bytes) {
  write_all(from, bytes, [&](const char* at, size_t left) {
    return ::pwrite(descriptor_, at, left, static_cast<off_t>(offset + (bytes - left)));
  });
}

void File::resize(uint64_t bytes) {
  const NoSizeSignal quiet;
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
    fail_with_errno("cannot be written");
}

void File::sync() const {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_with_errno("cannot be written");
}

void File::fail(const std::string& what) const { throw FileError(path_.string() + ": " + what); }

void File::fail_with_errno(const char* doing) const {
  fail(std::string(doing) + ": " + std::strerror(errno));
}

BlockWriter::BlockWriter(const std::filesystem::path& path) : file_(File::create(path)) {
  block_.reserve(block_bytes);
}

void BlockWriter::append(const void* from, size_t bytes) {
  for (const char* at = static_cast<const char*>(from); bytes;) {
    const size_t some = std::min<size_t>(bytes, block_bytes - block_.size());
    block_.insert(block_.end(), at, at + some);
    at += some;
    bytes -= some;
    if (block_.size() == block_bytes) flush();
  }
}

void BlockWriter::flush() {
  file_.append(block_.data(), block_.size());
  sums_.blocks.push_back(checksum(block_.data(), block_.size()));
  sums_.bytes += block_.size();
  block_.clear();
}

Sums BlockWriter::finish() {
  if (!block_.empty()) flush();
  file_.sync();
  return sums_;
}

BlockReader::BlockReader(const std::filesystem::path& path, const Sums& sums)
    : file_(File::open(path)), sums_(sums) {
  if (file_.size() != sums.bytes)
    file_.fail("has " + std::to_string(file_.size()) + " bytes, its manifest says " +
               std::to_string(sums.bytes));
}

void BlockReader::fetch(uint64_t block) {
  if (block == fetched_) return;
  const uint64_t first = block * block_bytes;
  if (first >= sums_.bytes) file_.fail("ends before its data does");
  fetched_ = UINT64_MAX;
  block_.resize(std::min(block_bytes, sums_.bytes - first));
  file_.read(first, block_.data(), block_.size());
  if (checksum(block_.data(), block_.size()) != sums_.blocks.at(block))
    file_.fail("is damaged: bytes " + std::to_string(first) + " to " +
               std::to_string(first + block_.size()) + " have another checksum");
  fetched_ = block;
}

void BlockReader::read(uint64_t offset, void* to, size_t bytes) {
  for (char* at = static_cast<char*>(to); bytes;) {
    fetch(offset / block_bytes);
    const size_t begin = offset % block_bytes;
    if (begin >= block_.size()) file_.fail("ends before its data does");
    const size_t some = std::min(bytes, block_.size() - begin);
    std::memcpy(at, block_.data() + begin, some);
    at += some;
    offset += some;
    bytes -= some;
  }
}

std::string read_text(const std::filesystem::path& path, uint64_t most) {
  const File file = File::open(path);
  if (file.size() > most)
    file.fail("has " + std::to_string(file.size()) + " bytes; at most " + std::to_string(most) +
              " are expected");
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  File file = File::create(path);
  file.append(text.data(), text.size());
  file.sync();
}

}  // namespace shardproof::checkpoint
