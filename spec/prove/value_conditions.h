#pragma once
// Whether the requirements on values, in a plan, its model and their callees, can hold together.
#include <optional>

#include "spec/lower/lower.h"
#include "spec/prove/smt.h"

namespace shardproof {

/// unsat: the requirements `words` contradict each other. unknown: undecided.
struct ValueConflict {
  smt::Satisfaction::Kind kind = smt::Satisfaction::Kind::unknown;
  std::vector<std::string> words;
};
/// None: nothing is required of values, or some values satisfy all requirements.
std::optional<ValueConflict> conflict_of_values(const ir::Program& program, size_t plan,
                                                smt::Solver& solver);

/// The same of what a proof assumed: roots, logarithms and divisors, beside what is required.
std::optional<ValueConflict> conflict_of_values(const lower::Assumed& assumed, smt::Solver& solver);

}  // namespace shardproof
