#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardproof {

// spec/page/parts as (file name, text): the page without its data. The build generates it.
const std::vector<std::pair<std::string, std::string>>& embedded_page();

}  // namespace shardproof
