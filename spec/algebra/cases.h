#pragma once
#include <functional>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// e as [c] F(1) + (1 - [c]) F(0) for an equation c inside functions that mentions one of the
/// variables: where a sum binds them, c leaves one term of it.
std::optional<Nf> by_equation(Engine& g, Nf e, const VarSet& bound);

/// e with each term that has a factor [u = 0] as it is where u is 0: [i = 3] x[i] is [i = 3] x[3].
Nf under_its_equations(Engine& g, Nf e);

/// Whether `vanishes` holds for e in all cases of some of its steps: argument positive, negative,
/// or 0. Splits at most three nested steps.
bool in_each_case(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes);

/// Whether `vanishes` holds for e at each value of an integer that has at most 8; false if e has no
/// such integer.
bool at_each_value(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes);

}  // namespace shardproof::algebra
