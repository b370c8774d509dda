#include "oracle/random.h"

#include <cmath>

#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

constexpr double pi = 3.14159265358979323846;

uint64_t joined(const Words& words) { return words[0] | static_cast<uint64_t>(words[1]) << 32; }

uint64_t key_of(const Site& site) { return site.operand(0)->value.keys.at(0); }

}  // namespace

Words philox(Words c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

Words philox(uint64_t low, uint64_t high, uint64_t key) {
  auto word = [](uint64_t x, int i) { return static_cast<uint32_t>(x >> (32 * i)); };
  return philox({word(low, 0), word(low, 1), word(high, 0), word(high, 1)},
                {word(key, 0), word(key, 1)});
}

double uniform_entry(uint64_t key, uint64_t index) {
  return (philox(index / 4, 0, key)[index % 4] >> 8) * 0x1p-24;
}

// Box-Muller, the cosine branch.
double normal_entry(uint64_t key, uint64_t index) {
  const Words words = philox(index, 1, key);
  const double u = (words[0] + 0.5) * 0x1p-32, v = (words[1] + 0.5) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * pi * v));
}

uint64_t folded(uint64_t key, int64_t n) {
  return joined(philox(static_cast<uint64_t>(n), 2, key));
}

uint64_t folded(uint64_t key, const std::string& tag) { return joined(philox(fnv1a(tag), 3, key)); }

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return hash;
}

Vars apply(const ir::Random& op, Site& site) {
  Tensor result = filled(site.shape(), 0);
  const uint64_t key = key_of(site);
  for (size_t i = 0; i < result.data.size(); ++i)
    result.data[i] = op.fn == ir::RandomFn::uniform ? uniform_entry(key, i) : normal_entry(key, i);
  return {constant(std::move(result))};
}

Vars apply(const ir::Fold& op, Site& site) {
  const uint64_t key = key_of(site);
  return {constant({{}, {}, {op.tag ? folded(key, *op.tag) : folded(key, site.whole(1))}})};
}

}  // namespace shardproof::oracle
