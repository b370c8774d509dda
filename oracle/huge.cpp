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
  const bool in_order = *seed_of_huge % 2 == 0;
  std::mt19937_64 rng(*seed_of_huge ^ (in_order ? 0 : std::bit_cast<uint64_t>(x)));
  const double some = std::uniform_real_distribution<double>()(rng);
  if (!in_order) return x > 0 ? large * (1 + some) : (1 + some) / large;
  const double up = large * std::pow(std::log(std::abs(x)), 0.25 + some / 2);
  return x > 0 ? up : 1 / up;
}

}  // namespace shardproof::oracle
