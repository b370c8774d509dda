#include "oracle/disturbed.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <optional>
#include <random>

namespace shardproof::oracle {
namespace {

struct Disturbance {
  double unit;
  std::mt19937_64 rng;
  Off off;
  int bits = std::min(20, -std::ilogb(unit) - 1);

  /// From 1/2 to 3/2 of the unit, in either direction: two that cancel seldom move alike.
  double error(double size) {
    const uint64_t drawn = rng();
    const double part = 0.5 + static_cast<double>(drawn >> 12) * 0x1p-52;
    return (drawn & 1 ? unit : -unit) * part * size;
  }
  /// The number of the format above or below x.
  double to_a_number(double x) {
    constexpr int least_exponent = -126;  // of f32 and bf16; below it the numbers lie evenly
    if (x == 0) return x;
    const double spacing = std::ldexp(2 * unit, std::max(std::ilogb(x), least_exponent));
    const double below = std::floor(x / spacing);
    return (below + (uniform() < x / spacing - below ? 1 : 0)) * spacing;
  }
  double uniform() { return std::uniform_real_distribution<double>()(rng); }
  /// Fits in fewer bits than such numbers have, and than f32 has: those after them are 0.
  bool is_exact(double x) const { return std::bit_cast<uint64_t>(x) << (11 + bits) == 0; }
};

thread_local std::optional<Disturbance> disturbance;

}  // namespace

Disturbed::Disturbed(double unit, unsigned seed, Off off) {
  disturbance.emplace(Disturbance{unit, std::mt19937_64(seed), off});
}
Disturbed::~Disturbed() { disturbance.reset(); }

bool disturbs() { return disturbance.has_value(); }

void disturb(Tensor& x) {
  for (double& each : x.data) {
    if (!std::isfinite(each)) continue;
    if (disturbance->off == Off::to_a_number)
      each = disturbance->to_a_number(each);
    else if (!disturbance->is_exact(each))
      each += disturbance->error(std::abs(each));
  }
}

void disturb(Tensor& x, const std::vector<const Tensor*>& operands, bool curved) {
  if (disturbance->off == Off::to_a_number) return disturb(x);
  constexpr double least = 1e-300;  // of what is 0 by rounding, as exp(-1000)
  for (size_t i = 0; i < x.data.size(); ++i) {
    double& each = x.data[i];
    if (!std::isfinite(each)) continue;
    bool exact = disturbance->is_exact(each);
    for (const Tensor* operand : operands) {
      if (operand->data.size() != 1 && operand->data.size() != x.data.size()) continue;
      const double of = operand->data[operand->data.size() == 1 ? 0 : i];
      exact = exact && (curved ? of == 0 : disturbance->is_exact(of));
    }
    if (exact) continue;
    each += each == 0 && curved ? least * (1 + disturbance->uniform())
                                : disturbance->error(std::abs(each));
  }
}

void disturb_literal(double& value, const std::string& text) {
  constexpr size_t digits_of_doubles = 15;
  const std::string mantissa = text.substr(0, text.find_first_of("eE"));
  size_t digits = 0;  // from the first that is not 0
  for (const char each : mantissa)
    if (std::isdigit(static_cast<unsigned char>(each)) && (digits > 0 || each != '0')) ++digits;
  if (digits > digits_of_doubles) value += disturbance->error(std::abs(value));
}

void disturb_sums(Tensor& sums, const Tensor& absolute, double terms) {
  for (size_t i = 0; i < sums.data.size(); ++i) {
    const double size = absolute.data[i];
    if (std::isfinite(size) &&
        !(disturbance->is_exact(size) && disturbance->is_exact(sums.data[i])))
      sums.data[i] += disturbance->error(size * std::sqrt(terms));
  }
  if (disturbance->off == Off::to_a_number) disturb(sums);
}

Tensor absolute(Tensor x) {
  for (double& each : x.data) each = std::abs(each);
  return x;
}

}  // namespace shardproof::oracle
