#include "spec/resolve/dims_in_one_word.h"

#include <algorithm>
#include <cctype>

namespace shardproof::resolution {

std::optional<Fix> dims_in_one_word(const Name& name, SourceRange range,
                                    const std::vector<Name>& known) {
  std::string words;
  for (const char letter : name) {
    Name dim(1, static_cast<char>(std::toupper(static_cast<unsigned char>(letter))));
    if (!std::count(known.begin(), known.end(), dim)) return std::nullopt;
    words += (words.empty() ? "" : " ") + dim;
  }
  const char* how = name.size() == 1 ? called_as_declared : words_with_spaces;
  return Fix{std::string(how) + " `" + words + "`", {{range, words}}, false, ""};
}

}  // namespace shardproof::resolution
