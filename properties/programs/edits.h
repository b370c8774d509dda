#pragma once
// Single edits of a plan's text: collectives dropped or exchanged, wrong axes, marks and numbers.
#include <string>
#include <vector>

namespace shardproof::programs {

struct Edit {
  size_t at = 0, length = 0;
  std::string by;
};

/// Every edit of the text from `begin` on.
std::vector<Edit> edits_of(const std::string& text, size_t begin);

std::string edited(const std::string& text, const Edit& edit);

}  // namespace shardproof::programs
