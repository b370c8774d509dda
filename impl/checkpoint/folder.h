#pragma once
// How checkpoints lie in their folder: `step-00000100`, and with an ending what is not one yet or
// any more.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace shardproof::checkpoint {

/// The checkpoint of a step, and where it is written before it is whole.
std::filesystem::path path_of_step(const std::filesystem::path& folder, int64_t step);
std::filesystem::path unfinished(const std::filesystem::path& checkpoint);

/// An empty folder to write this checkpoint to; removes what runs that were killed have left.
/// Throws FileError.
void begin(const std::filesystem::path& checkpoint);

/// Gives the folder of begin() its name; one that had it before is gone then. On the disk when it
/// returns. Throws FileError.
void commit(const std::filesystem::path& checkpoint);

/// Removes what begin() made.
void discard(const std::filesystem::path& checkpoint) noexcept;

/// Removes all but the last `keep` of the folder, and never this one.
void prune(const std::filesystem::path& checkpoint, int keep);

}  // namespace shardproof::checkpoint
