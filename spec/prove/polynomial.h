#pragma once
// Polynomials with whole coefficients: where the witness of a divisibility is found.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/prove/term.h"

namespace shardproof::smt {

/// Sorted names, repeated for powers -> coefficient, never 0.
using Polynomial = std::map<std::vector<std::string>, int64_t>;

/// Nullopt where the term is no such polynomial, or a coefficient is beyond 64 bits.
std::optional<Polynomial> polynomial_of(const Term& term);
Term to_term(const Polynomial& polynomial);
std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b);
std::optional<Polynomial> added(const Polynomial& a, const Polynomial& b);
/// The polynomial with `name` replaced.
std::optional<Polynomial> substituted(const Polynomial& in, const std::string& name,
                                      const Polynomial& by);
/// in / by where `by` is one product and every product of `in` contains it.
std::optional<Polynomial> divided(const Polynomial& in, const Polynomial& by);

}  // namespace shardproof::smt
