#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardproof {

// impl/shard_train/report as (file name, text): the page without its data. The build generates it.
const std::vector<std::pair<std::string, std::string>>& embedded_report();

}  // namespace shardproof
