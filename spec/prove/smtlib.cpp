// Prints terms as SMT-LIB2.
#include <algorithm>
#include <functional>

#include "spec/prove/term.h"

namespace shardproof::smt {
namespace {

std::string number_text(const Fraction& value, Sort sort) {
  const bool negative = value.numerator < 0;
  std::string text = std::to_string(value.numerator);
  if (negative) text = text.substr(1);
  if (sort == Sort::real) text += ".0";
  if (value.denominator != 1) text = "(/ " + text + " " + std::to_string(value.denominator) + ".0)";
  return negative ? "(- " + text + ")" : text;
}

const char* symbol(Term::Op op) {
  switch (op) {
    case Term::Op::add:
      return "+";
    case Term::Op::mul:
      return "*";
    case Term::Op::eq:
      return "=";
    case Term::Op::le:
      return "<=";
    case Term::Op::lt:
      return "<";
    case Term::Op::conj:
      return "and";
    case Term::Op::disj:
      return "or";
    case Term::Op::negation:
      return "not";
    case Term::Op::constant:
    case Term::Op::variable:
    case Term::Op::apply:
      break;
  }
  return "?";
}

class Printer {
 public:
  explicit Printer(const std::map<std::string, std::string>& rename) : rename_(rename) {}

  /// `wanted`: the sort that the context needs; integers are lifted to reals.
  std::string print(const Term& term, Sort wanted) const {
    if (term.op() == Term::Op::constant) return constant(term, wanted);
    std::string text = term.op() == Term::Op::variable ? variable(term.name()) : nested(term);
    if (wanted == Sort::real && term.sort() == Sort::integer) return "(to_real " + text + ")";
    return text;
  }

 private:
  std::string constant(const Term& term, Sort wanted) const {
    if (term.sort() == Sort::boolean) return term.value().numerator ? "true" : "false";
    return number_text(term.value(), wanted);
  }

  std::string variable(const std::string& name) const {
    auto found = rename_.find(name);
    return found == rename_.end() ? name : found->second;
  }

  std::string nested(const Term& term) const {
    Sort inner = term.sort();
    if (term.op() == Term::Op::eq || term.op() == Term::Op::le || term.op() == Term::Op::lt) {
      inner = Sort::integer;
      for (const Term& arg : term.args()) inner = std::max(inner, arg.sort());
      if (term.args()[0].sort() == Sort::boolean) inner = Sort::boolean;
    }
    std::string text = "(" + (term.op() == Term::Op::apply ? term.name() : symbol(term.op()));
    for (const Term& arg : term.args()) text += " " + print(arg, inner);
    return text + ")";
  }

  const std::map<std::string, std::string>& rename_;
};

}  // namespace

std::string to_smtlib(const Term& term, const std::map<std::string, std::string>& rename) {
  return Printer(rename).print(term, term.sort());
}

std::string logic_of(const std::vector<Term>& formulas) {
  bool integers = false, reals = false, nonlinear = false, functions = false;
  const std::function<void(const Term&)> visit = [&](const Term& term) {
    if (term.op() == Term::Op::variable)
      (term.sort() == Sort::real ? reals : integers) |= term.sort() != Sort::boolean;
    functions |= term.op() == Term::Op::apply;
    reals |= term.op() == Term::Op::apply;
    if (term.op() == Term::Op::mul)
      nonlinear |= std::count_if(term.args().begin(), term.args().end(), [](const Term& arg) {
                     return arg.op() != Term::Op::constant;
                   }) > 1;
    for (const Term& arg : term.args()) visit(arg);
  };
  for (const Term& formula : formulas) visit(formula);
  return std::string("QF_") + (functions ? "UF" : "") + (nonlinear ? "N" : "L") +
         (integers || !reals ? "I" : "") + (reals ? "R" : "") + "A";
}

}  // namespace shardproof::smt
