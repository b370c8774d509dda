#pragma once
// Integers as reals: what no reals satisfy, no integers do, and reals are decided faster.
#include <optional>
#include <vector>

#include "spec/prove/term.h"

namespace shardproof::smt {

/// Formulas over reals that every integer solution of `formulas` satisfies: a < b becomes
/// a + 1 <= b, and a != b one of two such. Nullopt unless all variables are integers or booleans.
std::optional<std::vector<Term>> relaxed(const std::vector<Term>& formulas);

/// For integers a, b always true, and what a relaxation loses: a = b, a + 1 <= b or b + 1 <= a.
Term ordered(const Term& a, const Term& b);

}  // namespace shardproof::smt
