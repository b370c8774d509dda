#pragma once
// The files that a program may read: regular ones of its own project.
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

/// Why a file is not read, as a predicate: "is a device". A FileReader may throw it for an import.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr size_t largest_file = 16 << 20;  ///< bytes of a program, or of one import

/// The text of a regular file of at most `largest_file` bytes. Throws Unreadable at once for
/// devices, pipes and folders.
std::string read_regular(const std::string& path);

/// Reads the program `first` and what it imports: from its project, the nearest folder above it
/// that has a `.git`, else its own folder, and from the folders that are `allowed`.
FileReader project_reader(const std::string& first, const std::vector<std::string>& allowed = {});

}  // namespace shardproof
