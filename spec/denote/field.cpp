#include <cstdlib>

#include "spec/denote/decimal.h"
#include "spec/denote/philox.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {
namespace {

Field power(Field base, uint64_t exponent) {
  Field result = 1;
  for (; exponent; exponent >>= 1, base = base * base)
    if (exponent & 1) result = result * base;
  return result;
}

bool small(const Field& x) { return std::llabs(x.nearest()) < (1ll << 40); }

Field hashed(uint64_t key, const Field& a, const Field& b = 0) {
  return Field::of_bits(scramble(scramble(scramble(key) + a.bits()) + b.bits()));
}

uint64_t code(ir::UnaryFn fn) { return 100 + static_cast<uint64_t>(fn); }
uint64_t code(ir::BinaryFn fn) { return 200 + static_cast<uint64_t>(fn); }

}  // namespace

uint64_t Field::wrap(int64_t value) {
  const int64_t rest = value % static_cast<int64_t>(modulus);
  return static_cast<uint64_t>(rest < 0 ? rest + static_cast<int64_t>(modulus) : rest);
}
int64_t Field::nearest() const {
  const auto value = static_cast<int64_t>(value_), p = static_cast<int64_t>(modulus);
  return value > p / 2 ? value - p : value;
}
Field operator+(Field a, Field b) {
  const uint64_t sum = a.value_ + b.value_;
  return {Field::Raw{}, sum >= Field::modulus ? sum - Field::modulus : sum};
}
Field operator-(Field a, Field b) {
  return {Field::Raw{},
          a.value_ >= b.value_ ? a.value_ - b.value_ : a.value_ + Field::modulus - b.value_};
}
Field operator*(Field a, Field b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a.value_) * b.value_;
  return {Field::Raw{}, static_cast<uint64_t>(product % Field::modulus)};
}
Field operator/(Field a, Field b) {
  if (b.value_ == 0) throw Overflow("division by zero");
  return a * power(b, Field::modulus - 2);
}

Field Scalar<Field>::number(const std::string& text, double value) {
  return decimal<Field>(text, value);
}
int64_t Scalar<Field>::integer(const Field& x) {
  if (!small(x)) throw Unsupported("a field element that is no small integer");
  return x.nearest();
}
Field Scalar<Field>::apply(ir::UnaryFn fn, const Field& x) {
  if (fn == ir::UnaryFn::floor && small(x)) return x;
  return hashed(code(fn), x);
}
Field Scalar<Field>::apply(ir::BinaryFn fn, const Field& a, const Field& b) {
  const int64_t m = a.nearest(), n = b.nearest();
  if (fn == ir::BinaryFn::pow && n >= 0 && n < 64) return power(a, static_cast<uint64_t>(n));
  if (takes(fn) != ir::Takes::integers || !small(a) || !small(b)) return hashed(code(fn), a, b);
  if (n == 0) throw Overflow("division by zero");
  const int64_t quotient = m / n - (m % n != 0 && (m < 0) != (n < 0) ? 1 : 0);
  return fn == ir::BinaryFn::floordiv ? Field(quotient) : Field(m - n * quotient);
}
Field Scalar<Field>::truncated(const Field& x) { return small(x) ? x : hashed(300, x); }
Field Scalar<Field>::draw(ir::RandomFn fn, const Field& key, int64_t index) {
  return hashed(400 + static_cast<uint64_t>(fn), key, index);
}
Field Scalar<Field>::fold(const Field& key, const std::string* tag, const Field& n) {
  return tag ? hashed(501, key, Field::of_bits(fnv1a(*tag))) : hashed(502, key, n);
}
std::string Scalar<Field>::text(const Field& x) { return std::to_string(x.nearest()); }

}  // namespace shardproof::denote
