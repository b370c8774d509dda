#pragma once
// Ids that are data, and the entries that they stand for.
#include <stdexcept>
#include <string>

#include "kernels/ops.h"

namespace shardproof::cpu {

inline int64_t id_at(Element element, const void* ids, int64_t i) {
  return element == Element::i32 ? static_cast<const int32_t*>(ids)[i]
                                 : int64_t{static_cast<const uint32_t*>(ids)[i]};
}

/// The local row of `id`; -1 if it belongs to another rank.
inline int64_t row_of(int64_t id, const IndexWindow& window) {
  const int64_t row = id - window.first;
  if (row >= 0 && row < window.extent) return row;
  if (!window.partial)
    throw std::out_of_range("index " + std::to_string(id) + " of " + std::to_string(window.extent) +
                            " entries");
  return -1;
}

}  // namespace shardproof::cpu
