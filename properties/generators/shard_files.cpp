#include "properties/generators/shard_files.h"

#include <algorithm>
#include <filesystem>

namespace shardproof::properties {

std::vector<std::string> shard_files(const std::vector<std::string>& folders,
                                     const std::vector<std::string>& without) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string path = entry.path().string();
      const bool left_out = std::any_of(
          without.begin(), without.end(),
          [&](const std::string& part) { return path.find(part) != std::string::npos; });
      if (entry.path().extension() == ".shard" && !left_out) paths.push_back(path);
    }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace shardproof::properties
