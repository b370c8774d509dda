#pragma once
// XXH3, 64 bits: the checksum of all parts of a checkpoint.
#include <cstddef>
#include <cstdint>
#include <string>

namespace shardproof::checkpoint {

/// XXH3_64bits of `bytes` bytes.
uint64_t checksum(const void* data, size_t bytes);

/// 16 hexadecimal digits.
std::string hex(uint64_t number);
/// The inverse of hex(). Throws std::invalid_argument for other text.
uint64_t from_hex(const std::string& text);

}  // namespace shardproof::checkpoint
