#include "impl/beside_oracle/close.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace shardproof::beside {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string difference(const std::vector<double>& got, const std::vector<double>& wanted,
                       double allowed) {
  if (got.size() != wanted.size())
    return std::to_string(got.size()) + " entries, not " + std::to_string(wanted.size());
  double both = 0, own = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    both += got[i] * wanted[i];
    own += wanted[i] * wanted[i];
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double error = std::abs(got[i] - wanted[i]);
    if (error <= allowed || allowed == INFINITY) continue;  // false for NaN
    return "entry " + std::to_string(i) + " is " + number(got[i]) + ", not " + number(wanted[i]) +
           ": off by " + number(error) + ", allowed " + number(allowed) + "; the best factor is " +
           number(own > 0 ? both / own : 0);
  }
  return "";
}

}  // namespace shardproof::beside
