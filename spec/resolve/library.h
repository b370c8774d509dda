#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardproof {

// The standard library, spec/lib/*.shard, as (file name, text), sorted by name; e.g. "norm.shard".
// The build generates the definition from the files.
const std::vector<std::pair<std::string, std::string>>& embedded_library();

}  // namespace shardproof
