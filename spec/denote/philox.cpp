#include "spec/denote/philox.h"

#include <cmath>
#include <numbers>

namespace shardproof::denote {
namespace {

uint64_t first_words(const Words& words) {
  return words[0] | static_cast<uint64_t>(words[1]) << 32;
}

}  // namespace

Words philox(uint64_t key, uint64_t low, uint64_t high) {
  auto word = [](uint64_t x, int i) { return static_cast<uint32_t>(x >> (32 * i)); };
  Words c{word(low, 0), word(low, 1), word(high, 0), word(high, 1)};
  uint32_t k0 = word(key, 0), k1 = word(key, 1);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    c = {word(p1, 1) ^ c[1] ^ k0, word(p1, 0), word(p0, 1) ^ c[3] ^ k1, word(p0, 0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

double philox_uniform(uint64_t key, uint64_t index) {
  return std::ldexp(philox(key, index / 4, 0)[index % 4] >> 8, -24);
}

double philox_normal(uint64_t key, uint64_t index) {
  const Words words = philox(key, index, 1);
  const double u = std::ldexp(words[0] + 0.5, -32), v = std::ldexp(words[1] + 0.5, -32);
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

uint64_t philox_fold(uint64_t key, uint64_t n) { return first_words(philox(key, n, 2)); }
uint64_t philox_fold(uint64_t key, const std::string& tag) {
  return first_words(philox(key, fnv1a(tag), 3));
}

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace shardproof::denote
