#pragma once
// The .shard files that laws are held to.
#include <string>
#include <vector>

namespace shardproof::properties {

/// The paths of all .shard files below the folders, sorted; `without`: not those that have such a
/// part in their path.
std::vector<std::string> shard_files(const std::vector<std::string>& folders,
                                     const std::vector<std::string>& without = {});

}  // namespace shardproof::properties
