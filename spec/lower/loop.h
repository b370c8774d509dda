#pragma once
// A loop in the form in which two loops are compared, whoever wrote them: carries that only add up
// are sums, those that only grow to a maximum are maxima, carries that never change are their first
// values, and every other one is, at the start of step n, an uninterpreted function of the first
// values, the body and n. What is made in the body is an ordinary term of those.
#include <functional>

#include "spec/lower/context.h"

namespace shardproof::lower {

struct Carry {
  Name name;  ///< for people
  Vars index;
  Dtype dtype;
  Tensor init;
  bool needed = true;  ///< its last value is asked for
};

/// One step at given values of the carries: their next values, and what else is made.
struct Step {
  std::vector<Tensor> next, emit;
};

struct LoopText {
  Dim dim;
  bool reverse;
  size_t depth;  ///< loops around it
  std::vector<Carry> carries;
  /// What else is made has to be an ordinary term, though nothing is emitted: for a way back.
  bool taped;
  std::function<Step(const std::vector<Tensor>& carries)> step;
  /// A number above those of all loops that the body mentions, where that is known before.
  std::optional<int> fresh = {};
};

/// max(c, rest) of a carry c; of min(c, f) it is max(-c, -f), negated.
struct Extremum {
  bool least;
  Nf rest;
  Nf of(algebra::Algebra& a, Nf first, Nf others) const;
};
std::optional<Extremum> extremum_with(algebra::Algebra& a, Nf value, Nf carry);

/// The least number that is above those of all loops in the terms.
int above(Context& c, const std::vector<Nf>& terms);

struct LoopValue {
  Var n;                     ///< the step, free in `emit`
  std::vector<Tensor> last;  ///< by carry; 0 for one that is not needed
  std::vector<Tensor> emit;
};

/// The variable that stands for the step in a loop over `dim`.
Var step_index(Context& c, const Dim& dim, size_t depth);

/// Calls `step` several times, the last time at the values that the carries have at step n.
LoopValue lower_loop(Context& c, const LoopText& text);

}  // namespace shardproof::lower
