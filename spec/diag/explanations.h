#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardproof {

// The explanation pages, spec/diag/explain/<code>.md, as (code, text), sorted by code; empty while
// there is none. The build generates the definition from the files.
const std::vector<std::pair<std::string, std::string>>& embedded_explanations();

}  // namespace shardproof
