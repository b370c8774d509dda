#pragma once
// The names of checkpoints in their folder: `step-00000100`; a suffix marks those that are
// incomplete or being removed.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace shardproof::checkpoint {

/// The checkpoint of a step, and the path where it is written until it is complete.
std::filesystem::path path_of_step(const std::filesystem::path& folder, int64_t step);
std::filesystem::path unfinished(const std::filesystem::path& checkpoint);

/// Creates an empty folder for this checkpoint, and removes what killed runs left. Throws
/// FileError.
void begin(const std::filesystem::path& checkpoint);

/// Renames the folder of begin() to its final name; replaces an existing checkpoint. On disk when
/// it returns. Throws FileError.
void commit(const std::filesystem::path& checkpoint);

/// Removes the folder of begin().
void discard(const std::filesystem::path& checkpoint) noexcept;

/// Removes all but the last `keep` checkpoints in the folder, and never this one.
void prune(const std::filesystem::path& checkpoint, int keep);

}  // namespace shardproof::checkpoint
