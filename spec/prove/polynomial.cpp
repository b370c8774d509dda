#include "spec/prove/polynomial.h"

#include <algorithm>
#include <iterator>

namespace shardproof::smt {

std::optional<Polynomial> added(const Polynomial& a, const Polynomial& b) {
  Polynomial result = a;
  for (const auto& [names, coefficient] : b) {
    int64_t& sum = result[names];
    if (__builtin_add_overflow(sum, coefficient, &sum)) return std::nullopt;
    if (sum == 0) result.erase(names);
  }
  return result;
}

std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b) {
  constexpr size_t most_terms = 1000;  // a product of n sums has 2^n
  if (a.size() * b.size() > most_terms) return std::nullopt;
  Polynomial result;
  for (const auto& [left, x] : a)
    for (const auto& [right, y] : b) {
      std::vector<std::string> names;
      std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(names));
      int64_t product;
      if (__builtin_mul_overflow(x, y, &product)) return std::nullopt;
      auto sum = added(result, {{names, product}});
      if (!sum) return std::nullopt;
      result = std::move(*sum);
    }
  return result;
}

std::optional<Polynomial> polynomial_of(const Term& term) {
  if (term.op() == Term::Op::constant) {
    if (term.value().denominator != 1) return std::nullopt;
    if (term.value().numerator == 0) return Polynomial{};
    return Polynomial{{{}, term.value().numerator}};
  }
  if (term.op() == Term::Op::variable) return Polynomial{{{term.name()}, 1}};
  if (term.op() != Term::Op::add && term.op() != Term::Op::mul) return std::nullopt;
  std::optional<Polynomial> result;
  for (const Term& arg : term.args()) {
    auto next = polynomial_of(arg);
    if (!next) return std::nullopt;
    if (result)
      next = term.op() == Term::Op::add ? added(*result, *next) : multiplied(*result, *next);
    if (!next) return std::nullopt;
    result = std::move(next);
  }
  return result;
}

Term to_term(const Polynomial& polynomial) {
  Term sum(0);
  for (const auto& [names, coefficient] : polynomial) {
    Term product(coefficient);
    for (const std::string& name : names) product = product * integer(name);
    sum = sum + product;
  }
  return sum;
}

std::optional<Polynomial> substituted(const Polynomial& in, const std::string& name,
                                      const Polynomial& by) {
  Polynomial result;
  for (const auto& [names, coefficient] : in) {
    std::vector<std::string> rest = names;
    const auto powers = std::erase(rest, name);
    std::optional<Polynomial> product = Polynomial{{rest, coefficient}};
    for (size_t i = 0; i < static_cast<size_t>(powers) && product; ++i)
      product = multiplied(*product, by);
    auto sum = product ? added(result, *product) : std::nullopt;
    if (!sum) return std::nullopt;
    result = std::move(*sum);
  }
  return result;
}

std::optional<Polynomial> divided(const Polynomial& in, const Polynomial& by) {
  if (by.size() != 1) return std::nullopt;
  const auto& [divisor, number] = *by.begin();
  Polynomial result;
  for (const auto& [names, coefficient] : in) {
    if (coefficient % number != 0 ||
        !std::includes(names.begin(), names.end(), divisor.begin(), divisor.end()))
      return std::nullopt;
    std::vector<std::string> rest;
    std::set_difference(names.begin(), names.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(rest));
    result[rest] = coefficient / number;
  }
  return result;
}

}  // namespace shardproof::smt
