#include "spec/denote/dual.h"

#include <cmath>
#include <numbers>

namespace shardproof::denote {
namespace {

/// value + sum of slope * tangent. 0 along a direction in which x does not move, for any slope.
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

/// A double with the operations that the derivatives' text needs.
struct Real : ir::Notation<Real> {
  double value;
  Real(double number) : value(number) {}
  static Real unary(ir::UnaryFn fn, const Real& x) { return ir::value(fn, x.value); }
  static Real binary(ir::BinaryFn fn, const Real& a, const Real& b) {
    return ir::value(fn, a.value, b.value);
  }
  static Real choice(const Real& c, const Real& a, const Real& b) { return c.value != 0 ? a : b; }
};

double slope(ir::UnaryFn fn, double x) {
  return ir::pulled<Real>(fn, 1, x, ir::value(fn, x)).value;
}
double slope(ir::BinaryFn fn, size_t operand, double a, double b) {
  return ir::pulled<Real>(fn, operand, 1, a, b, ir::value(fn, a, b)).value;
}

/// pow has a gradient at x^0 too, for every x.
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
  if (!has_gradient(fn)) return constant(value);
  return moved(value, slope(fn, 0, a.value, b.value), a, slope(fn, 1, a.value, b.value), b);
}
Dual Scalar<Dual>::draw(ir::RandomFn fn, const Dual& key, int64_t index) {
  return constant(Scalar<double>::draw(fn, key.value, index));
}
Dual Scalar<Dual>::fold(const Dual& key, const std::string* tag, const Dual& n) {
  return constant(Scalar<double>::fold(key.value, tag, n.value));
}

}  // namespace shardproof::denote
