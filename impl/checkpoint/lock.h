#pragma once
// A lock: one writer per folder of checkpoints.
#include <filesystem>

namespace shardproof::checkpoint {

/// Held by the process that writes to a folder; the system releases it when the process ends for
/// any reason.
class FolderLock {
 public:
  /// Throws FileError if the folder cannot be made, or if another run holds the lock; names that
  /// run.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace shardproof::checkpoint
