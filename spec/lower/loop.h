#pragma once
// The normal form of a loop, however it was written. A carry that only adds is a sum; one that only
// multiplies is a product; one that only takes maxima is a maximum; one that never changes is its
// initial value. Any other carry, a stack, is at the start of step n an uninterpreted function of
// the initial values, the body and n. Values made in the body are ordinary terms of those.
#include <functional>

#include "spec/lower/context.h"

namespace shardproof::lower {

struct Carry {
  Name name;  ///< for messages
  Vars index;
  Dtype dtype;
  TensorExpr init;
  bool needed = true;  ///< its last value is used
};

/// One step, for given values of the carries: their next values, and the emitted values.
struct Iteration {
  std::vector<TensorExpr> next, emit;
};

struct LoopText {
  Dim dim;
  bool reverse;
  size_t depth;  ///< loops around it
  std::vector<Carry> carries;
  /// Values in the body must be ordinary terms though nothing is emitted: the reverse pass needs
  /// them.
  bool taped;
  std::function<Iteration(const std::vector<TensorExpr>& carries)> step;
  /// A number above those of all loops in the body, if it is known in advance.
  std::optional<int> fresh = {};
  /// The step where what is made of the next value of carry i is made of `next`. Null if it is not
  /// known how.
  std::function<Iteration(const std::vector<TensorExpr>& carries, size_t i, const TensorExpr& next)>
      step_with = {};
};

/// max(c, rest) for a carry c. min(c, f) is stored as -max(-c, -f).
struct Extremum {
  bool least;
  Nf rest;
  Nf of(algebra::Algebra& a, Nf first, Nf others) const;
};
std::optional<Extremum> extremum_with(algebra::Algebra& a, Nf value, Nf carry);

/// The least number above those of all loops in the terms.
int above(Context& c, const std::vector<Nf>& terms);

struct LoopValue {
  Var n;                         ///< the step, free in `emit`
  std::vector<TensorExpr> last;  ///< by carry; 0 if the carry is not needed
  std::vector<TensorExpr> emit;
};

/// The variable for the step of a loop over `dim`.
Var step_index(Context& c, const Dim& dim, size_t depth);

/// Calls `step` several times; the last call has the values of the carries at step n.
LoopValue lower_loop(Context& c, const LoopText& text);

}  // namespace shardproof::lower
