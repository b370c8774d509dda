#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardproof {

// spec/html/parts as (file name, text): what all pages share. The build generates it.
const std::vector<std::pair<std::string, std::string>>& embedded_sheet();

}  // namespace shardproof
