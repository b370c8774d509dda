#include "spec/check/exact.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "spec/denote/decimal.h"
#include "spec/denote/evaluate.h"

namespace shardproof {
namespace {

using denote::Array;
using denote::Rational;

/// The shortest decimal that reads back as x: 0.1, not the nearest binary fraction.
Rational shortest_decimal(double x) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), x);
  return denote::decimal<Rational>(std::string(text, end), x);
}

std::vector<Array<double>> rounded(const std::vector<Array<Rational>>& exact) {
  std::vector<Array<double>> arrays;
  for (const Array<Rational>& each : exact) {
    arrays.push_back({each.shape, {}});
    for (const Rational& x : each.data)
      arrays.back().data.push_back(static_cast<double>(x.numerator()) /
                                   static_cast<double>(x.denominator()));
  }
  return arrays;
}

}  // namespace

std::optional<ExactResults> exact_results(const ir::Program& program, size_t plan,
                                          const denote::Sizes& sizes,
                                          const std::vector<Array<double>>& inputs) {
  const ir::Function& function = program.functions.at(plan);
  if (std::any_of(function.params.begin(), function.params.end(),
                  [&](ir::ValueId v) { return function.values.at(v).type.dtype == Dtype::key; }))
    return std::nullopt;
  try {
    std::vector<Array<Rational>> exact;
    for (const Array<double>& each : inputs) {
      exact.push_back({each.shape, {}});
      for (double x : each.data) exact.back().data.push_back(shortest_decimal(x));
    }
    auto own = denote::evaluate<Rational>(program, plan, sizes, exact);
    auto model = denote::evaluate<Rational>(program, function.model.value(), sizes, exact);
    return ExactResults{rounded(own), rounded(model)};
  } catch (const denote::Error&) {
    return std::nullopt;
  }
}

}  // namespace shardproof
