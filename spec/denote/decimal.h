#pragma once
// A literal as an exact number: 1e-5 is 1/100000.
#include <cctype>
#include <cmath>
#include <string>

#include "spec/denote/denote.h"

namespace shardproof::denote {

/// Evaluates a decimal literal with the scalar's own + * /. Returns `value` if the text is no
/// literal and `value` is an integer or a dyadic fraction.
template <class S>
S decimal(const std::string& text, double value) {
  S result = 0;
  int64_t exponent = 0;
  size_t i = text.starts_with('-') ? 1 : 0, digits = 0;
  for (bool point = false; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(text[i]))) {
      result = result * S(10) + S(text[i] - '0');
      exponent -= point ? 1 : 0;
      ++digits;
    } else {
      break;
    }
  }
  if (digits == 0) {
    int64_t scale = 1;
    for (; value != std::floor(value) && scale < (1 << 30); scale *= 2) value *= 2;
    if (value != std::floor(value) || std::abs(value) > 9.0e15) throw Overflow("a number " + text);
    return S(static_cast<int64_t>(value)) / S(scale);
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E'))
    exponent += std::stol(text.substr(i + 1));
  for (; exponent > 0; --exponent) result = result * S(10);
  S scale = 1;
  for (; exponent < 0; ++exponent) scale = scale * S(10);
  result = result / scale;
  return text[0] == '-' ? S(0) - result : result;
}

}  // namespace shardproof::denote
