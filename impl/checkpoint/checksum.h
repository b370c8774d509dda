#pragma once
// XXH3, 64 bits: the checksum of everything a checkpoint is made of.
#include <cstddef>
#include <cstdint>
#include <string>

namespace shardproof::checkpoint {

/// XXH3_64bits of `bytes` bytes.
uint64_t checksum(const void* data, size_t bytes);

/// 16 hexadecimal digits.
std::string hex(uint64_t number);
/// The inverse of hex(); throws std::invalid_argument for anything else.
uint64_t from_hex(const std::string& text);

}  // namespace shardproof::checkpoint
