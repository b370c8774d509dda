#pragma once
// Finds equal values in a plan (common subexpressions): equal functions of equal arguments have
// equal keys, whatever the names of their dims.
#include <cstdint>
#include <vector>

#include "impl/tensor/placement.h"

namespace shardproof::compile {

struct Unit;

/// A 128-bit hash: values with equal keys are equal.
struct Key {
  uint64_t first = 0, second = 0;
  auto operator<=>(const Key&) const = default;
};

/// Of a value that is not compared with others.
constexpr Key no_key{};

struct KeyHash {
  size_t operator()(const Key& key) const { return key.first; }
};

/// The key of the n-th external value.
Key outside_key(const std::string& kind, size_t n);

/// The keys of all values of the unit's function, including loop bodies, for these keys of its
/// parameters. `depth`: number of enclosing loops. In a loop's body, index and carries have keys of
/// its depth, so keys of a body are valid only inside it.
std::vector<Key> keys_of(const Unit& unit, const Placement& placement,
                         const std::vector<Key>& parameters, size_t depth);

}  // namespace shardproof::compile
