// Decimal literals as exact rationals, and back.
#pragma once

#include <cctype>
#include <optional>
#include <string>

#include "spec/ir/rational.h"

namespace shardproof::algebra {

/// digits * 10^exponent of a literal without sign, exactly. Throws Overflow beyond 64 bits.
inline Rational decimal(const std::string& text) {
  Rational digits = 0;
  int64_t exponent = 0;
  size_t i = 0, zeros = 0;
  bool point = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) break;
    if (point && text[i] == '0') {  // trailing zeros of a fraction are no digits
      ++zeros;
      continue;
    }
    for (; zeros > 0; --zeros, --exponent) digits = digits * 10;
    digits = digits * 10 + Rational(text[i] - '0');
    if (point) --exponent;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E'))
    exponent += std::stoll(text.substr(i + 1)), i = text.size();
  if (i == 0 || i != text.size()) throw std::domain_error("no number: " + text);
  if (digits.is_zero()) return digits;
  if (exponent < -36 || exponent > 18) throw Overflow();
  for (; exponent > 0; --exponent) digits = digits * 10;
  for (; exponent < 0; ++exponent) digits = digits / 10;
  return digits;
}

/// The finite decimal of x, if it has one.
inline std::optional<std::string> decimal_text(Rational x) {
  int64_t rest = x.den;
  int twos = 0, fives = 0;
  for (; rest % 2 == 0; rest /= 2) ++twos;
  for (; rest % 5 == 0; rest /= 5) ++fives;
  if (rest != 1) return std::nullopt;
  const int places = twos > fives ? twos : fives;
  __int128 digits = x.num < 0 ? -static_cast<__int128>(x.num) : x.num;
  for (int k = twos; k < places; ++k) digits *= 2;
  for (int k = fives; k < places; ++k) {
    if (digits > (static_cast<__int128>(1) << 120)) return std::nullopt;
    digits *= 5;
  }
  std::string text;
  for (int k = 0; digits > 0 || k <= places; ++k, digits /= 10) {
    if (k == places && places > 0) text.insert(text.begin(), '.');
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(digits % 10)));
  }
  return x.num < 0 ? "-" + text : text;
}

}  // namespace shardproof::algebra
