#include "oracle/disturbed.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

namespace shardproof::oracle {
namespace {

struct Disturbance {
  double unit;
  std::mt19937_64 rng;

  double error(double size) { return rng() & 1 ? unit * size : -unit * size; }
  /// Fits in fewer bits than such numbers have, and than f32 has.
  bool is_exact(double x) const {
    int exponent;
    const int bits = std::min(20, -std::ilogb(unit) - 1);
    const double scaled = std::ldexp(std::frexp(x, &exponent), bits);
    return scaled == std::floor(scaled);
  }
};

thread_local std::optional<Disturbance> disturbance;

}  // namespace

Disturbed::Disturbed(double unit, unsigned seed) {
  disturbance.emplace(Disturbance{unit, std::mt19937_64(seed)});
}
Disturbed::~Disturbed() { disturbance.reset(); }

bool disturbs() { return disturbance.has_value(); }

void disturb(Tensor& x) {
  for (double& each : x.data)
    if (std::isfinite(each) && !disturbance->is_exact(each))
      each += disturbance->error(std::abs(each));
}

void disturb_sums(Tensor& sums, const Tensor& absolute, double terms) {
  for (size_t i = 0; i < sums.data.size(); ++i) {
    const double size = absolute.data[i];
    if (std::isfinite(size) &&
        !(disturbance->is_exact(size) && disturbance->is_exact(sums.data[i])))
      sums.data[i] += disturbance->error(size * std::sqrt(terms));
  }
}

Tensor absolute(Tensor x) {
  for (double& each : x.data) each = std::abs(each);
  return x;
}

}  // namespace shardproof::oracle
