#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardproof {

// The standard library, spec/lib/*.shard, as (file name, text), e.g. "norm.shard", sorted by name.
// The build generates the definition from the files.
const std::vector<std::pair<std::string, std::string>>& embedded_library();

}  // namespace shardproof
