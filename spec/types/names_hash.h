#pragma once
// Tables by the factors of a dim: a hash compares fewer strings than an ordered map.
#include <functional>
#include <string>
#include <vector>

#include "spec/types/type.h"

namespace shardproof {

struct NamesHash {
  size_t operator()(const std::vector<Name>& names) const {
    size_t found = names.size();
    for (const Name& name : names) found = found * 31 + std::hash<Name>()(name);
    return found;
  }
};

}  // namespace shardproof
