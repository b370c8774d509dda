#include "spec/prove/relax.h"

#include <algorithm>

namespace shardproof::smt {
namespace {

Term lifted(const Term& term) {
  if (term.op() == Term::Op::variable) return real(term.name());
  if (term.op() == Term::Op::constant) return term;
  Term result = lifted(term.args()[0]);
  for (size_t i = 1; i < term.args().size(); ++i)
    result = term.op() == Term::Op::add ? result + lifted(term.args()[i])
                                        : result * lifted(term.args()[i]);
  return result;
}

Term below(const Term& a, const Term& b) { return less_equal(lifted(a) + Term(1), lifted(b)); }

Term formula(const Term& term, bool positive) {
  const std::vector<Term>& args = term.args();
  switch (term.op()) {
    case Term::Op::negation:
      return formula(args[0], !positive);
    case Term::Op::conj:
    case Term::Op::disj: {
      std::vector<Term> parts;
      for (const Term& arg : args) parts.push_back(formula(arg, positive));
      return (term.op() == Term::Op::conj) == positive ? conj(std::move(parts))
                                                       : disj(std::move(parts));
    }
    case Term::Op::eq:
      if (positive) return equal(lifted(args[0]), lifted(args[1]));
      return disj({below(args[0], args[1]), below(args[1], args[0])});
    case Term::Op::le:
      return positive ? less_equal(lifted(args[0]), lifted(args[1])) : below(args[1], args[0]);
    case Term::Op::lt:
      return positive ? below(args[0], args[1]) : less_equal(lifted(args[1]), lifted(args[0]));
    case Term::Op::constant:
    case Term::Op::variable:
    case Term::Op::apply:
    case Term::Op::add:
    case Term::Op::mul:
      break;
  }
  return positive ? term : negate(term);
}

bool of_integers(const Term& term) {
  const bool logic = term.op() == Term::Op::eq && term.args()[0].sort() == Sort::boolean;
  return term.op() != Term::Op::apply && term.sort() != Sort::real && !logic &&
         std::all_of(term.args().begin(), term.args().end(), of_integers);
}

}  // namespace

std::optional<std::vector<Term>> relaxed(const std::vector<Term>& formulas) {
  std::vector<Term> result;
  for (const Term& each : formulas) {
    if (!of_integers(each)) return std::nullopt;
    result.push_back(formula(each, true));
  }
  return result;
}

Term ordered(const Term& a, const Term& b) {
  return disj({equal(a, b), less_equal(a + Term(1), b), less_equal(b + Term(1), a)});
}

}  // namespace shardproof::smt
