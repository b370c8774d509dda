#pragma once
// The files that a program may read: regular files of its own project.
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/resolve/resolve.h"

namespace shardproof {

/// Why a file is not read, as a predicate: "is a device". A FileReader may throw it for an import.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr size_t largest_file = 16 << 20;  ///< bytes, for a program or an import

/// The text of a regular file of at most `largest_file` bytes. Throws Unreadable, without blocking,
/// for devices, pipes and folders.
std::string read_regular(const std::string& path);

/// Reads the program `first` and its imports from its project, and from `allowed` folders. The
/// project is the nearest parent folder with a `.git`, else the program's own folder.
FileReader project_reader(const std::string& first, const std::vector<std::string>& allowed = {});

}  // namespace shardproof
