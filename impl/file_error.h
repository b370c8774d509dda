#pragma once
// What goes wrong with files.
#include <stdexcept>

namespace shardproof {

/// A file that cannot be read or written, or is not what it should be; it names the file, and the
/// rank where several take part.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace shardproof
