#include "spec/prove/obligation.h"

#include <algorithm>
#include <functional>
#include <set>

namespace shardproof::smt {
namespace {

const char* sort_name(Sort sort) {
  return sort == Sort::boolean ? "Bool" : sort == Sort::integer ? "Int" : "Real";
}

/// Uninterpreted functions and their arities.
std::set<std::pair<std::string, size_t>> functions_of(const std::vector<Term>& formulas) {
  std::set<std::pair<std::string, size_t>> found;
  const std::function<void(const Term&)> visit = [&](const Term& term) {
    if (term.op() == Term::Op::apply) found.insert({term.name(), term.args().size()});
    for (const Term& arg : term.args()) visit(arg);
  };
  for (const Term& formula : formulas) visit(formula);
  return found;
}

std::string body(const Obligation& obligation, const std::map<std::string, std::string>& rename) {
  const std::vector<Term> formulas = asserted(obligation);
  std::string text = "(set-logic " + logic_of(formulas) + ")\n";
  for (const Term& variable : variables_of(formulas))
    text +=
        "(declare-const " + to_smtlib(variable, rename) + " " + sort_name(variable.sort()) + ")\n";
  for (const auto& [name, arity] : functions_of(formulas)) {
    text += "(declare-fun " + name + " (";
    for (size_t i = 0; i < arity; ++i) text += i ? " Real" : "Real";
    text += ") Real)\n";
  }
  for (const Term& formula : formulas) text += "(assert " + to_smtlib(formula, rename) + ")\n";
  return text + "(check-sat)\n";
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::layout:
      return "layout";
    case Kind::index:
      return "index";
    case Kind::size:
      return "size";
    case Kind::rule:
      return "rule";
  }
  return "?";
}

std::vector<Term> asserted(const Obligation& obligation) {
  std::vector<Term> formulas = obligation.assumptions;
  if (!obligation.satisfiable) formulas.push_back(negate(obligation.goal));
  return formulas;
}

std::string to_smtlib(const Obligation& obligation) {
  std::string text = obligation.satisfiable ? "; expect: sat\n" : "";
  text += std::string("; ") + to_string(obligation.kind) + ": " + obligation.claim + "\n";
  if (!obligation.satisfiable)
    text += "; the last assertion is the claim's negation; expected answer: unsat\n";
  return text + body(obligation, {});
}

std::string canonical_text(const Obligation& obligation, std::vector<std::string>* variables) {
  std::map<std::string, std::string> rename;
  for (const Term& variable : variables_of(asserted(obligation))) {
    rename.emplace(variable.name(), "x" + std::to_string(rename.size()));
    if (variables) variables->push_back(variable.name());
  }
  return (obligation.satisfiable ? "sat\n" : "unsat\n") + body(obligation, rename);
}

}  // namespace shardproof::smt
