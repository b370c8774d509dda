#pragma once
// The numbers that an op can run on. Scalar<S> is what a denotation needs of S besides + - * / and
// ==; booleans are 0 and 1.
#include <cmath>
#include <string>
#include <type_traits>

#include "spec/denote/denote.h"
#include "spec/denote/few_draws.h"

namespace shardproof::denote {

/// An exact fraction of 64-bit integers, in lowest terms; throws Overflow.
class Rational {
 public:
  Rational(int64_t value = 0) : numerator_(value) {}
  Rational(int64_t numerator, int64_t denominator);
  int64_t numerator() const { return numerator_; }
  int64_t denominator() const { return denominator_; }
  bool operator==(const Rational&) const = default;
  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  friend bool operator<(const Rational& a, const Rational& b);

 private:
  static Rational reduced(__int128 numerator, __int128 denominator);
  int64_t numerator_ = 0, denominator_ = 1;
};

/// The field with 2^61 - 1 elements. Non-polynomial functions are keyed hashes: equal arguments
/// give equal values, and nothing else is known. Elements are ordered by their representatives
/// nearest to 0, so small integers keep their order.
class Field {
 public:
  static constexpr uint64_t modulus = (1ull << 61) - 1;
  Field(int64_t value = 0) : value_(wrap(value)) {}
  static Field of_bits(uint64_t bits) { return Field(Raw{}, bits % modulus); }
  uint64_t bits() const { return value_; }
  int64_t nearest() const;  ///< the representative nearest to 0
  bool operator==(const Field&) const = default;
  friend Field operator+(Field a, Field b);
  friend Field operator-(Field a, Field b);
  friend Field operator*(Field a, Field b);
  friend Field operator/(Field a, Field b);

 private:
  struct Raw {};
  Field(Raw, uint64_t value) : value_(value) {}
  static uint64_t wrap(int64_t value);
  uint64_t value_;
};

template <class S>
struct Scalar;

template <>
struct Scalar<Rational> {
  static Rational number(const std::string& text, double value);  ///< the decimal, exactly
  static int64_t integer(const Rational& x);  ///< throws Unsupported if x is no integer
  static Rational of_key(uint64_t key) { return Rational(static_cast<int64_t>(key)); }
  static uint64_t key(const Rational& x) { return static_cast<uint64_t>(integer(x)); }
  static Rational apply(ir::UnaryFn fn, const Rational& x);  ///< for nonlinear functions
  static Rational apply(ir::BinaryFn fn, const Rational& a, const Rational& b);  ///< // % pow
  static bool less(const Rational& a, const Rational& b) { return a < b; }
  static bool same(const Rational& a, const Rational& b) { return a == b; }
  static Rational truncated(const Rational& x);
  static Rational random(RandomBits& rng);  ///< a small integer
  static Rational draw(ir::RandomFn fn, const Rational& key, int64_t index);
  static Rational fold(const Rational& key, const std::string* tag, const Rational& n);
  static std::string text(const Rational& x);
};

template <>
struct Scalar<Field> {
  static Field number(const std::string& text, double value);
  static int64_t integer(const Field& x);  ///< representative nearest to 0, if |it| < 2^40
  static Field of_key(uint64_t key) { return Field::of_bits(key); }
  static Field apply(ir::UnaryFn fn, const Field& x);
  static Field apply(ir::BinaryFn fn, const Field& a, const Field& b);
  static bool less(const Field& a, const Field& b) { return a.nearest() < b.nearest(); }
  static bool same(const Field& a, const Field& b) { return a == b; }
  static Field truncated(const Field& x);
  static Field random(RandomBits& rng) { return Field::of_bits(rng()); }
  static Field draw(ir::RandomFn fn, const Field& key, int64_t index);
  static Field fold(const Field& key, const std::string* tag, const Field& n);
  static std::string text(const Field& x);
};

/// A key is stored in the bits of the double: use of_key and key, never a conversion.
template <>
struct Scalar<double> {
  static double number(const std::string&, double value) { return value; }
  static int64_t integer(double x);
  static double of_key(uint64_t key);
  static uint64_t key(double x);
  static double apply(ir::UnaryFn fn, double x);
  static double apply(ir::BinaryFn fn, double a, double b);
  static bool less(double a, double b) { return a < b; }
  static bool same(double a, double b);  ///< equal to 1e-9, or bit by bit
  static double truncated(double x);
  static double random(RandomBits& rng);
  static double draw(ir::RandomFn fn, double key, int64_t index);
  static double fold(double key, const std::string* tag, double n);
  static std::string text(double x);  ///< four digits
};

template <class S>
bool has_no_value(const S& x) {
  if constexpr (std::is_same_v<S, double>) return std::isnan(x);
  return false;
}
/// Whether b takes the place of a in a maximum, or comes after it in a sorted line. A value that is
/// not defined is the largest, as in the oracle.
template <class S>
bool below(const S& a, const S& b) {
  return !has_no_value(a) && (has_no_value(b) || Scalar<S>::less(a, b));
}
/// Whether b takes the place of a in a minimum: what is not defined stays.
template <class S>
bool above(const S& a, const S& b) {
  return !has_no_value(a) && (has_no_value(b) || Scalar<S>::less(b, a));
}

}  // namespace shardproof::denote
