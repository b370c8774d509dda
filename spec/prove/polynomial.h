#pragma once
// Polynomials with integer coefficients, to find the quotient that witnesses a divisibility.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/prove/term.h"

namespace shardproof::smt {

/// Key: sorted names, repeated for powers. Value: the coefficient, never 0.
using Polynomial = std::map<std::vector<std::string>, int64_t>;

/// Nullopt if the term is no such polynomial, or a coefficient exceeds 64 bits.
std::optional<Polynomial> polynomial_of(const Term& term);
Term to_term(const Polynomial& polynomial);
std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b);
std::optional<Polynomial> added(const Polynomial& a, const Polynomial& b);
/// Substitutes a polynomial for `name`.
std::optional<Polynomial> substituted(const Polynomial& in, const std::string& name,
                                      const Polynomial& by);
/// in / by, if `by` is one product that divides every product of `in`.
std::optional<Polynomial> divided(const Polynomial& in, const Polynomial& by);

}  // namespace shardproof::smt
