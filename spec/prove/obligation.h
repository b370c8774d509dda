#pragma once
// One claim for the solver, in words and as terms.
#include <string>
#include <vector>

#include "spec/prove/term.h"

namespace shardproof::smt {

enum class Kind { layout, index, size, rule };
const char* to_string(Kind kind);

/// assumptions imply goal, for all values of the variables. With `satisfiable` the claim is that
/// the assumptions have a model, and there is no goal.
struct Obligation {
  std::string name;  ///< "M/t/d covers": short, for reports
  Kind kind = Kind::layout;
  std::string claim;  ///< one line for people
  std::vector<Term> assumptions;
  Term goal = Term::truth(true);
  bool satisfiable = false;
  /// Values at which the assumptions hold, when known: evaluated here, it spares the solver a
  /// search, and it proves nothing by being stated.
  Model example;
};

/// The formulas whose joint unsatisfiability (with `satisfiable`: satisfiability) is the claim.
std::vector<Term> asserted(const Obligation& obligation);

/// A file that any solver reads. First line `; <kind>: <claim>`, expected answer `unsat`; with
/// `satisfiable` the first line is `; expect: sat`.
std::string to_smtlib(const Obligation& obligation);

/// The obligation as text with its variables renamed in order of occurrence, without its claim:
/// equal for equal claims about other dims and axes.
std::string canonical_text(const Obligation& obligation,
                           std::vector<std::string>* variables = nullptr);

}  // namespace shardproof::smt
