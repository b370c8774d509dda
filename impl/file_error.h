#pragma once
// Errors about files.
#include <stdexcept>

namespace shardproof {

/// A file that cannot be read or written, or has wrong contents. The message names the file, and
/// the rank if there are several.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace shardproof
