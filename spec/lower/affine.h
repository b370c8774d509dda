#pragma once
// Carries that a loop scales and adds to: c' = f c + b, where f and b depend on no carry. With
// weights h for which f = h(step) / h(next step), h c is a sum.
#include <functional>

#include "spec/algebra/engine.h"

namespace shardproof::lower {

using algebra::Nf;
using algebra::Var;

struct Affine {
  Nf factor, more;
};

/// None if `next` has another form in the carry.
std::optional<Affine> affine_in(algebra::Engine& g, Nf next, Nf carry);

/// The steps of a loop as the weights need them.
struct Steps {
  Var n;
  Nf first, last, next;          ///< `next`: the step after n
  Nf count;                      ///< the number of steps before n
  std::function<Nf(Nf)> before;  ///< a sum over the steps before n
};

/// h, as a function of the step n.
struct Weights {
  Nf first, here, next, end;  ///< h at the first step, at n, after n, and after the last step
};

/// None if no weights are known that are not 0 after each step.
std::optional<Weights> weights_of(algebra::Algebra& a, Nf factor, const Steps& steps);

}  // namespace shardproof::lower
