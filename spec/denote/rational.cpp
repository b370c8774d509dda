#include <cstdlib>
#include <limits>

#include "spec/denote/decimal.h"
#include "spec/denote/philox.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {
namespace {

using Wide = __int128;

Wide gcd(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

int64_t narrow(Wide x) {
  if (x > std::numeric_limits<int64_t>::max() || x < std::numeric_limits<int64_t>::min())
    throw Overflow("a rational with more than 64 bits");
  return static_cast<int64_t>(x);
}

int64_t floor_of(const Rational& x) {
  const int64_t n = x.numerator(), d = x.denominator();
  return n / d - (n % d < 0 ? 1 : 0);
}

Rational power(const Rational& base, int64_t exponent) {
  Rational result = 1;
  for (int64_t i = 0; i < std::llabs(exponent); ++i) result = result * base;
  return exponent < 0 ? Rational(1) / result : result;
}

}  // namespace

Rational::Rational(int64_t numerator, int64_t denominator)
    : Rational(reduced(numerator, denominator)) {}

Rational Rational::reduced(Wide numerator, Wide denominator) {
  if (denominator == 0) throw Overflow("division by zero");
  const Wide common = gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
  Rational result;
  result.numerator_ = narrow(numerator / common);
  result.denominator_ = narrow(denominator / common);
  return result;
}

Rational operator+(const Rational& a, const Rational& b) {
  Rational sum;
  if (a.denominator_ == 1 && b.denominator_ == 1 &&
      !__builtin_add_overflow(a.numerator_, b.numerator_, &sum.numerator_))
    return sum;
  return Rational::reduced(static_cast<Wide>(a.numerator_) * b.denominator_ +
                               static_cast<Wide>(b.numerator_) * a.denominator_,
                           static_cast<Wide>(a.denominator_) * b.denominator_);
}
Rational operator-(const Rational& a, const Rational& b) {
  return a + Rational::reduced(-static_cast<Wide>(b.numerator_), b.denominator_);
}
Rational operator*(const Rational& a, const Rational& b) {
  Rational product;
  if (a.denominator_ == 1 && b.denominator_ == 1 &&
      !__builtin_mul_overflow(a.numerator_, b.numerator_, &product.numerator_))
    return product;
  return Rational::reduced(static_cast<Wide>(a.numerator_) * b.numerator_,
                           static_cast<Wide>(a.denominator_) * b.denominator_);
}
Rational operator/(const Rational& a, const Rational& b) {
  return Rational::reduced(static_cast<Wide>(a.numerator_) * b.denominator_,
                           static_cast<Wide>(a.denominator_) * b.numerator_);
}
bool operator<(const Rational& a, const Rational& b) {
  return static_cast<Wide>(a.numerator_) * b.denominator_ <
         static_cast<Wide>(b.numerator_) * a.denominator_;
}

Rational Scalar<Rational>::number(const std::string& text, double value) {
  return decimal<Rational>(text, value);
}
int64_t Scalar<Rational>::integer(const Rational& x) {
  if (x.denominator() != 1) throw Unsupported(text(x) + " is no integer");
  return x.numerator();
}
Rational Scalar<Rational>::apply(ir::UnaryFn fn, const Rational& x) {
  if (fn == ir::UnaryFn::floor) return floor_of(x);
  throw Unsupported(std::string(ir::name_of(fn)) + " of a rational");
}
Rational Scalar<Rational>::apply(ir::BinaryFn fn, const Rational& a, const Rational& b) {
  if (fn == ir::BinaryFn::pow && b.denominator() == 1 && std::llabs(b.numerator()) < 64)
    return power(a, b.numerator());
  if (fn == ir::BinaryFn::floordiv) return floor_of(a / b);
  if (fn == ir::BinaryFn::mod) return a - b * Rational(floor_of(a / b));
  throw Unsupported(std::string(ir::name_of(fn)) + " of rationals");
}
Rational Scalar<Rational>::truncated(const Rational& x) { return x.numerator() / x.denominator(); }
Rational Scalar<Rational>::random(RandomBits& rng) { return static_cast<int64_t>(rng() % 11) - 5; }
Rational Scalar<Rational>::draw(ir::RandomFn fn, const Rational& k, int64_t index) {
  const uint64_t hash = scramble(scramble(key(k)) + static_cast<uint64_t>(index));
  if (fn == ir::RandomFn::uniform) return {static_cast<int64_t>(hash % 64), 64};
  return {static_cast<int64_t>(hash % 33) - 16, 8};
}
Rational Scalar<Rational>::fold(const Rational& k, const std::string* tag, const Rational& n) {
  const uint64_t part = tag ? fnv1a(*tag) : scramble(static_cast<uint64_t>(integer(n)));
  return static_cast<int64_t>(scramble(scramble(key(k)) ^ part) >> 2);
}
std::string Scalar<Rational>::text(const Rational& x) {
  const std::string numerator = std::to_string(x.numerator());
  return x.denominator() == 1 ? numerator : numerator + "/" + std::to_string(x.denominator());
}

}  // namespace shardproof::denote
