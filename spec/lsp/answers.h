#pragma once
// The server's answers about one analysis; null where there is none.
#include "spec/lsp/document.h"

namespace shardproof::lsp {

Json hover(const Analysis& analysis, uint32_t offset);
/// The fields of a record as Markdown, a line for each.
std::string fields_text(const std::vector<Leaf>& leaves);
Json definition(const Analysis& analysis, uint32_t offset);
Json references(const Analysis& analysis, const std::string& uri, uint32_t offset);
Json symbols(const Analysis& analysis);
Json folding(const Analysis& analysis);
Json completion(const Analysis& analysis, uint32_t offset);
/// The type of each value that the text does not state, between two offsets.
Json inlay_hints(const Analysis& analysis, uint32_t begin, uint32_t end);

extern const std::vector<std::string> semantic_kinds;
Json semantic_tokens(const Analysis& analysis);

/// The range of the name at an offset, or null if it cannot be renamed.
Json prepare_rename(const Analysis& analysis, uint32_t offset);
/// A renaming that leaves all else as it is, or why there is none.
struct Renaming {
  Json edits = Json::array();
  std::string text;  ///< with the edits
  std::string refused;
};
Renaming rename(const Analysis& analysis, uint32_t offset, const std::string& name);

}  // namespace shardproof::lsp
