#include "oracle/huge.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

namespace shardproof::oracle {
namespace {

thread_local std::optional<unsigned> seed_of_huge;

}  // namespace

HugeExponentials::HugeExponentials(unsigned seed) { seed_of_huge = seed; }
HugeExponentials::~HugeExponentials() { seed_of_huge.reset(); }

double exponential(double x) {
  constexpr double most = 700, large = 1e100;  // products of three are doubles
  if (!seed_of_huge || !(std::abs(x) > most)) return std::exp(x);
  std::mt19937_64 rng(std::bit_cast<uint64_t>(x) ^ *seed_of_huge);
  const double some = 1 + std::uniform_real_distribution<double>()(rng);
  return x > 0 ? large * some : some / large;
}

}  // namespace shardproof::oracle
