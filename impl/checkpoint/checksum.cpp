#include "impl/checkpoint/checksum.h"

#include <algorithm>
#include <stdexcept>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shardproof::checkpoint {

uint64_t checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

std::string hex(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

uint64_t from_hex(const std::string& text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char each) {
    return ('0' <= each && each <= '9') || ('a' <= each && each <= 'f');
  });
  if (text.size() != 16 || !digits) throw std::invalid_argument(text + " is not a checksum");
  return std::stoull(text, nullptr, 16);
}

}  // namespace shardproof::checkpoint
