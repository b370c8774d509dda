#pragma once
// Files that are read and written completely or not at all, with a checksum per block.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "impl/file_error.h"

namespace shardproof::checkpoint {

/// A file has one checksum per this many bytes, and is read in such blocks.
constexpr uint64_t block_bytes = 1 << 20;

/// The size of a file and the checksums of its blocks.
struct Sums {
  uint64_t bytes = 0;
  std::vector<uint64_t> blocks;
};

/// An open file or folder. Every error is a FileError with its name.
class File {
 public:
  static File open(const std::filesystem::path& path);
  static File create(const std::filesystem::path& path);  ///< truncates an existing file
  static File open_to_write(const std::filesystem::path& path);
  static File folder(const std::filesystem::path& path);
  File(File&& other) noexcept;
  ~File();

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const;
  /// Reads all of these bytes; an error if the file is shorter.
  void read(uint64_t offset, void* to, size_t bytes) const;
  void append(const void* from, size_t bytes);
  void write(uint64_t offset, const void* from, size_t bytes);
  void resize(uint64_t bytes);
  /// Returns when the data is on disk.
  void sync() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  File(const std::filesystem::path& path, int flags, const char* doing);
  template <class Write>
  void write_all(const void* from, size_t bytes, const Write& write_some);
  [[noreturn]] void fail_with_errno(const char* doing) const;

  std::filesystem::path path_;
  int descriptor_;
};

/// Writes a file block by block.
class BlockWriter {
 public:
  explicit BlockWriter(const std::filesystem::path& path);
  void append(const void* from, size_t bytes);
  /// Flushes the file to disk.
  Sums finish();

 private:
  void flush();
  File file_;
  std::vector<char> block_;
  Sums sums_;
};

/// Reads parts of a file with these block checksums; returns only verified bytes. Caches one
/// block.
class BlockReader {
 public:
  BlockReader(const std::filesystem::path& path, const Sums& sums);
  const File& file() const { return file_; }
  void read(uint64_t offset, void* to, size_t bytes);

 private:
  void fetch(uint64_t block);
  File file_;
  const Sums& sums_;
  std::vector<char> block_;
  uint64_t fetched_ = UINT64_MAX;
};

/// Reads at most `most` bytes.
std::string read_text(const std::filesystem::path& path, uint64_t most = UINT64_MAX);
/// The contents are on disk when it returns, but the folder entry may not be.
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace shardproof::checkpoint
