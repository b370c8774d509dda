#pragma once
// Integers relaxed to reals: formulas without a real solution have no integer solution, and reals
// are decided faster.
#include <optional>
#include <vector>

#include "spec/prove/term.h"

namespace shardproof::smt {

/// Formulas over reals that every integer solution of `formulas` satisfies: a < b becomes a + 1 <=
/// b, and a != b becomes a + 1 <= b or b + 1 <= a. Nullopt unless all variables are integers or
/// booleans.
std::optional<std::vector<Term>> relaxed(const std::vector<Term>& formulas);

/// Always true for integers a, b, but lost by the relaxation: a = b, a + 1 <= b or b + 1 <= a.
Term ordered(const Term& a, const Term& b);

}  // namespace shardproof::smt
