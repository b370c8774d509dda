#pragma once
// The label rule of RULES: einsum, sum, max, and the index ops, which are einsums with a one-hot
// operand.
#include "spec/rules/combine.h"
#include "spec/rules/labels.h"

namespace shardproof::rules {

struct Contraction {
  std::vector<std::vector<Label>> operands;  ///< the indices that each operand carries
  std::vector<Role> roles;
  Mark contracted = Mark::U;  ///< what a contracted split label leaves
  bool creates = false;       ///< the bracketed dim of the result is new; its axes are as written
};

/// The left sides' labels. A bracketed dim is indexed, not an index: `[V]` is not the V of another
/// operand.
Contraction contraction(const Application& app, std::vector<Role> roles);

/// Axes and marks of the right side. Every operand that carries a label splits it alike (E0204); an
/// axis that splits a label splits no other one (E0209); every operand that lacks it is R there; a
/// contracted one is U (or Max) in the result.
Shape contract(const Application& app, const Contraction& contraction);

}  // namespace shardproof::rules
