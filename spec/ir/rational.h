// Exact rationals over int64. Every operation is checked in 128 bits and throws Overflow; it never
// wraps.
#pragma once

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

namespace shardproof::algebra {

/// A coefficient does not fit into int64; the caller answers "unknown".
struct Overflow : std::runtime_error {
  Overflow() : std::runtime_error("rational coefficient overflows 64 bits") {}
};

struct Rational {
  int64_t num = 0;
  int64_t den = 1;  // > 0, coprime to num

  Rational() = default;
  Rational(int64_t n) : num(n) {}  // NOLINT: integers are rationals
  Rational(int64_t n, int64_t d) { *this = reduced(n, d); }

  bool is_zero() const { return num == 0; }
  bool is_one() const { return num == 1 && den == 1; }
  bool is_integer() const { return den == 1; }
  int sign() const { return num > 0 ? 1 : num < 0 ? -1 : 0; }
  int64_t floor() const { return num >= 0 ? num / den : -((-num + den - 1) / den); }
  int64_t ceil() const { return -(-*this).floor(); }
  double value() const { return static_cast<double>(num) / static_cast<double>(den); }
  std::string text() const {
    return den == 1 ? std::to_string(num) : std::to_string(num) + "/" + std::to_string(den);
  }

  Rational operator-() const { return reduced(-static_cast<__int128>(num), den); }
  friend Rational operator+(Rational a, Rational b) {
    return reduced(wide(a.num) * b.den + wide(b.num) * a.den, wide(a.den) * b.den);
  }
  friend Rational operator-(Rational a, Rational b) { return a + -b; }
  friend Rational operator*(Rational a, Rational b) {
    return reduced(wide(a.num) * b.num, wide(a.den) * b.den);
  }
  friend Rational operator/(Rational a, Rational b) {
    return reduced(wide(a.num) * b.den, wide(a.den) * b.num);
  }
  friend bool operator==(Rational a, Rational b) { return a.num == b.num && a.den == b.den; }
  friend bool operator!=(Rational a, Rational b) { return !(a == b); }
  friend bool operator<(Rational a, Rational b) {
    return wide(a.num) * b.den < wide(b.num) * a.den;
  }

 private:
  static __int128 wide(int64_t x) { return x; }
  static Rational whole(__int128 n) {
    if (n > INT64_MAX || n < -INT64_MAX) throw Overflow();
    return static_cast<int64_t>(n);
  }
  static Rational reduced(__int128 n, __int128 d) {
    if (d == 0) throw Overflow();
    if (d < 0) n = -n, d = -d;
    if (d == 1) return whole(n);
    __int128 a = n < 0 ? -n : n, b = d;
    while (b != 0) {
      __int128 r = a % b;
      a = b, b = r;
    }
    if (a > 1) n /= a, d /= a;
    if (n > INT64_MAX || n < -INT64_MAX || d > INT64_MAX) throw Overflow();
    Rational r;
    r.num = static_cast<int64_t>(n), r.den = static_cast<int64_t>(d);
    return r;
  }
};

/// x^e for an integer e (x != 0 when e < 0); throws Overflow.
inline Rational power_of(Rational x, int64_t e) {
  if (e < 0) return power_of(Rational(1) / x, -e);
  Rational r = 1;
  for (; e > 0; e >>= 1) {
    if (e & 1) r = r * x;
    if (e > 1) x = x * x;
  }
  return r;
}

}  // namespace shardproof::algebra
