#pragma once
// Divides a large reduction among the members of a group.
#include <algorithm>

#include "kernels/element.h"

namespace shardproof {

/// Member i of n reduces entries begin(i) .. begin(i + 1): whole cache lines, except at the end.
class Parts {
 public:
  Parts(size_t count, Element element, size_t n) : count_(count) {
    const size_t line = 64 / size_of(element);
    part_ = (count + n * line - 1) / (n * line) * line;
  }
  size_t begin(size_t i) const { return std::min(i * part_, count_); }
  size_t size(size_t i) const { return begin(i + 1) - begin(i); }

 private:
  size_t count_, part_;
};

/// Below this many bytes of all members together, each member reduces everything itself, which is
/// cheaper than another barrier.
constexpr size_t reduce_alone_bytes = 64 << 10;

}  // namespace shardproof
