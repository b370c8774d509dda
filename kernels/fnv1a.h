#pragma once
// FNV-1a: a hash of text that is the same on every machine.
#include <cstdint>
#include <string_view>

namespace shardproof {

/// The hash of `text`; with `hash`, continues from an earlier result.
inline uint64_t fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325ull) {
  for (char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3ull;
  return hash;
}

}  // namespace shardproof
