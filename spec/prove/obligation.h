#pragma once
// One claim for the solver, as text and as terms.
#include <string>
#include <vector>

#include "spec/prove/term.h"

namespace shardproof::smt {

enum class Kind { layout, index, size, rule };
const char* to_string(Kind kind);

/// The assumptions imply the goal for all values of the variables. With `satisfiable`: the
/// assumptions have a model; there is no goal.
struct Obligation {
  std::string name;  ///< "M/t/d covers": short, for reports
  Kind kind = Kind::layout;
  std::string claim;  ///< one line of text
  std::vector<Term> assumptions;
  Term goal = Term::truth(true);
  bool satisfiable = false;
  /// Values for which the assumptions hold, if known. They are evaluated here, which saves the
  /// solver a search; they need not be trusted.
  Model example;
};

/// The formulas that must be unsatisfiable together (with `satisfiable`: satisfiable).
std::vector<Term> asserted(const Obligation& obligation);

/// A file for any SMT solver. First line `; <kind>: <claim>`, expected answer `unsat`; with
/// `satisfiable` the first line is `; expect: sat`.
std::string to_smtlib(const Obligation& obligation);

/// The obligation without its claim, with variables renamed in order of occurrence: equal claims
/// about different dims and axes give equal text.
std::string canonical_text(const Obligation& obligation,
                           std::vector<std::string>* variables = nullptr);

}  // namespace shardproof::smt
