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
  // Products of three are doubles. Those that are no such number are all smaller, or all larger.
  constexpr double large = 1e100, most = 230.2585;  // log(large)
  if (!seed_of_huge || !(std::abs(x) > most)) return std::exp(x);
  std::mt19937_64 rng(std::bit_cast<uint64_t>(x) ^ *seed_of_huge);
  const double some = 1 + std::uniform_real_distribution<double>()(rng);
  return x > 0 ? large * some : some / large;
}

}  // namespace shardproof::oracle
