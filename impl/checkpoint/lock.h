#pragma once
// One writer in a folder of checkpoints.
#include <filesystem>

namespace shardproof::checkpoint {

/// Held by the process that writes to a folder; the system releases it when the process ends,
/// however it ends.
class FolderLock {
 public:
  /// Throws FileError where the folder cannot be made, or another run has it; names that run.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace shardproof::checkpoint
