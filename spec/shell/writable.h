#pragma once
#include <string>

namespace shardproof::shell {

/// Why a file cannot be written; empty if it can. A missing file is made. A pipe that nothing reads
/// is refused: to open it would wait for a reader.
std::string why_not_writable(const std::string& path);

/// Puts `text` in the place of what a file holds, which a full disk leaves as it is: a new file
/// takes its name once it is whole. A device or a pipe is written itself, and a link stays one.
/// Returns why not; empty if it is done.
std::string replace_file(const std::string& path, const std::string& text);

}  // namespace shardproof::shell
