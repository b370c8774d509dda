#pragma once
// Which values of a plan are the same: equal functions of the same arguments have equal keys.
#include <array>
#include <cstdint>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::compile {

struct Unit;

/// 128 bits of a hash: two values with one key are one value.
struct Key {
  std::array<uint64_t, 2> words{};
  auto operator<=>(const Key&) const = default;
};

/// The key of the n-th value that comes from outside.
Key outside_key(const std::string& kind, size_t n);

/// The keys of all values of the unit's function, loop bodies' too, when its parameters have these.
/// `depth`: of loops around the call. In the body of a loop the index and the carries have keys of
/// the loop's depth, so that keys of a body say nothing outside of it.
std::vector<Key> keys_of(const Unit& unit, const std::vector<Key>& parameters, size_t depth);

}  // namespace shardproof::compile
