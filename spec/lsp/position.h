#pragma once
// Positions of the protocol: lines and UTF-16 columns, both from 0; ours are offsets in bytes.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "spec/diag/diagnostic.h"

namespace shardproof::lsp {

using Json = nlohmann::json;

/// The offset of a position: a line beyond the end is the end of the text, a column beyond its
/// line the end of the line, one inside of a character its begin. What is no position is 0.
uint32_t offset_of(const SourceFile& file, const Json& position);
Json position_of(const SourceFile& file, uint32_t offset);
/// `position_of` for offsets in order: each goes on from the last, however long the line is.
class PositionsInOrder {
 public:
  explicit PositionsInOrder(const SourceFile& file) : file_(file) {}
  struct Place {
    size_t line = 0, character = 0;
  };
  Place at(uint32_t offset);

 private:
  const SourceFile& file_;
  uint32_t offset_ = 0;
  Place place_;
};
Json range_of(const SourceFile& file, const SourceRange& range);
/// How many UTF-16 units a text has.
size_t utf16_length(std::string_view text);

}  // namespace shardproof::lsp
