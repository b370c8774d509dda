#include "spec/denote/dual.h"

#include <cmath>
#include <numbers>

namespace shardproof::denote {
namespace {

/// value + sum of slope * tangent: of a direction in which x does not move, 0 whatever the slope.
Dual moved(double value, double slope, const Dual& x) {
  Dual result = Dual::of(value);
  for (size_t i = 0; i < Dual::directions; ++i)
    result.tangent[i] = x.tangent[i] == 0 ? 0 : slope * x.tangent[i];
  return result;
}
Dual moved(double value, double slope_a, const Dual& a, double slope_b, const Dual& b) {
  Dual result = moved(value, slope_a, a);
  const Dual other = moved(value, slope_b, b);
  for (size_t i = 0; i < Dual::directions; ++i) result.tangent[i] += other.tangent[i];
  return result;
}

double slope(ir::UnaryFn fn, double x) {
  switch (fn) {
    case ir::UnaryFn::neg:
      return -1;
    case ir::UnaryFn::exp:
      return std::exp(x);
    case ir::UnaryFn::log:
      return 1 / x;
    case ir::UnaryFn::sqrt:
      return 0.5 / std::sqrt(x);
    case ir::UnaryFn::rsqrt:
      return -0.5 / (x * std::sqrt(x));
    case ir::UnaryFn::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case ir::UnaryFn::erf:
      return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    case ir::UnaryFn::sin:
      return std::cos(x);
    case ir::UnaryFn::cos:
      return -std::sin(x);
    case ir::UnaryFn::abs:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case ir::UnaryFn::logical_not:
    case ir::UnaryFn::floor:
      return 0;
  }
  throw Unsupported("an unknown function");
}

Dual power(const Dual& a, const Dual& b) {
  const double value = std::pow(a.value, b.value);
  const double base = b.value == 0 ? 0 : b.value * std::pow(a.value, b.value - 1);
  return moved(value, base, a, value == 0 ? 0 : value * std::log(a.value), b);
}

}  // namespace

Dual Dual::of(double value, const Tangent& tangent) {
  Dual result;
  result.value = value;
  result.tangent = tangent;
  return result;
}
Dual operator+(const Dual& a, const Dual& b) {
  Dual result = Dual::of(a.value + b.value, a.tangent);
  for (size_t i = 0; i < Dual::directions; ++i) result.tangent[i] += b.tangent[i];
  return result;
}
Dual operator-(const Dual& a, const Dual& b) {
  Dual result = Dual::of(a.value - b.value, a.tangent);
  for (size_t i = 0; i < Dual::directions; ++i) result.tangent[i] -= b.tangent[i];
  return result;
}
Dual operator*(const Dual& a, const Dual& b) {
  return moved(a.value * b.value, b.value, a, a.value, b);
}
Dual operator/(const Dual& a, const Dual& b) {
  const double quotient = a.value / b.value;
  return moved(quotient, 1 / b.value, a, -quotient / b.value, b);
}

Dual Scalar<Dual>::apply(ir::UnaryFn fn, const Dual& x) {
  return moved(Scalar<double>::apply(fn, x.value), slope(fn, x.value), x);
}
Dual Scalar<Dual>::apply(ir::BinaryFn fn, const Dual& a, const Dual& b) {
  if (fn == ir::BinaryFn::pow) return power(a, b);
  const double value = Scalar<double>::apply(fn, a.value, b.value);
  if (fn == ir::BinaryFn::floordiv) return constant(value);
  return moved(value, 1, a, -std::floor(a.value / b.value), b);
}
Dual Scalar<Dual>::draw(ir::RandomFn fn, const Dual& key, int64_t index) {
  return constant(Scalar<double>::draw(fn, key.value, index));
}
Dual Scalar<Dual>::fold(const Dual& key, const std::string* tag, const Dual& n) {
  return constant(Scalar<double>::fold(key.value, tag, n.value));
}

}  // namespace shardproof::denote
