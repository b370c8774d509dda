#pragma once
// A text that belongs to one file, in another one.
#include <set>
#include <string>

#include "spec/types/type.h"

namespace shardproof {

struct TextOfFile {
  std::string path, text;
};

/// The names in a text, also those in patterns; not fields (`.ln`, `ln=`, `ln: `) and what is
/// bound.
std::set<Name> names_in(const std::string& text);

/// The declarations that `text`, which belongs to the file `own`, needs in the file `in` as well:
/// imports, dims and axes that `in` does not have.
std::string needed_in(const TextOfFile& in, const std::string& text, const TextOfFile& own);

}  // namespace shardproof
