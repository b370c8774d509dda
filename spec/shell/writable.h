#pragma once
#include <string>

namespace shardproof::shell {

/// Why a file cannot be written; empty if it can. A missing file is made. A pipe that nothing reads
/// is refused: to open it would wait for a reader.
std::string why_not_writable(const std::string& path);

}  // namespace shardproof::shell
