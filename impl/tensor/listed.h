#pragma once
// Lists of names in messages.
#include <string>
#include <vector>

#include "spec/types/type.h"

namespace shardproof {

/// "x, w, b"; "none" if empty.
inline std::string listed(const std::vector<Name>& names) {
  std::string text;
  for (const Name& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace shardproof
