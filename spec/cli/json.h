#pragma once
// A report as JSON; the format is report.schema.json.
#include <nlohmann/json.hpp>

#include "spec/cli/report.h"

namespace shardproof::cli {

using Json = nlohmann::ordered_json;

Json json_of(const FileReport& report);
/// Text as UTF-8: invalid bytes become U+FFFD.
std::string utf8(std::string_view text);

}  // namespace shardproof::cli
