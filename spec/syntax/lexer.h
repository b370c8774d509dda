#pragma once
// Text to tokens. A mistake becomes one diagnostic and one `bad` token, at which the parser is
// silent.
#include <string_view>
#include <vector>

#include "spec/syntax/report.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {

struct Token {
  enum class Kind { word, number, string, symbol, bad, end } kind = Kind::end;
  std::string_view text;        ///< a string: what is between the quotes
  uint32_t begin = 0, end = 0;  ///< bytes of the file, a string's quotes included
  uint32_t column = 0;          ///< of its first byte, from 0
  bool first_on_line = false;
  Keyword keyword = Keyword::none;  ///< of a word
  uint64_t key = ~uint64_t{0};      ///< of a word or symbol; the others have none
};

/// The tokens of `text`, whose first byte is byte `base` of file `file`; the last one is `end`. In
/// a pattern there are no comments. Errors: E0003 (numbers), E0004 (strings), E0005 (characters).
std::vector<Token> lex(std::string_view text, int32_t file, uint32_t base, bool pattern,
                       Report& report);

}  // namespace shardproof::syntax
