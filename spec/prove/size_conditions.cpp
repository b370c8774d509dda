#include "spec/prove/size_conditions.h"

#include <algorithm>
#include <functional>

#include "spec/prove/polynomial.h"
#include "spec/prove/size_search.h"
#include "spec/prove/size_terms.h"

namespace shardproof {

using smt::Obligation;
using smt::Polynomial;
using smt::Term;

namespace {

/// An assumption of the form name = by.
struct Equation {
  std::string name;
  Polynomial by;
  Term formula;
  std::string words;
};

void add_equations(const Term& formula, const Term& whole, const std::string& words,
                   std::vector<Equation>& equations) {
  if (formula.op() == Term::Op::conj)
    for (const Term& part : formula.args()) add_equations(part, whole, words, equations);
  if (formula.op() != Term::Op::eq) return;
  for (int side : {0, 1}) {
    const auto left = polynomial_of(formula.args()[static_cast<size_t>(side)]);
    const auto right = polynomial_of(formula.args()[static_cast<size_t>(1 - side)]);
    if (!left || !right || left->size() != 1 || left->begin()->second != 1 ||
        left->begin()->first.size() != 1)
      continue;
    const std::string& name = left->begin()->first[0];
    const bool own = std::any_of(right->begin(), right->end(), [&](const auto& each) {
      return std::find(each.first.begin(), each.first.end(), name) != each.first.end();
    });
    if (!own) equations.push_back({name, *right, whole, words});
  }
}

/// The quotient of `in` by `divisor`, with equations applied if needed; `used` collects them.
std::optional<Polynomial> quotient(const Polynomial& in, const Polynomial& divisor,
                                   const std::vector<Equation>& equations,
                                   std::vector<const Equation*>& used) {
  if (auto found = smt::divided(in, divisor)) return found;
  if (used.size() >= 4) return std::nullopt;
  for (const Equation& equation : equations) {
    const bool occurs = std::any_of(in.begin(), in.end(), [&](const auto& each) {
      return std::find(each.first.begin(), each.first.end(), equation.name) != each.first.end();
    });
    if (!occurs || std::find(used.begin(), used.end(), &equation) != used.end()) continue;
    const auto next = smt::substituted(in, equation.name, equation.by);
    if (!next) continue;
    used.push_back(&equation);
    if (auto found = quotient(*next, divisor, equations, used)) return found;
    used.pop_back();
  }
  return std::nullopt;
}

std::vector<Equation> equations_of(const ir::Program& program, SizeTerms& terms,
                                   const std::vector<Divisibility>& conditions) {
  std::vector<Equation> equations;
  for (const Divisibility& condition : conditions) {
    const Term formula = terms.condition(condition);
    add_equations(formula, formula, to_string(condition), equations);
  }
  for (const ir::Requirement& requirement : program.requirements) {
    try {
      const Term formula = terms.requirement(requirement.condition);
      add_equations(formula, formula, "require " + ir::to_string(requirement.condition), equations);
    } catch (const std::domain_error&) {  // exceeds 64 bits: not usable
    }
  }
  for (const SizeFact& definition : terms.definitions())
    add_equations(definition.formula, definition.formula, definition.words, equations);
  return equations;
}

std::string claim_text(const Divisibility& weak, const std::vector<const Equation*>& used) {
  std::string text = to_string(weak);
  for (size_t i = 0; i < used.size(); ++i)
    text += (i ? " and " : " follows from ") + used[i]->words;
  return used.empty() ? text + " holds for the declared sizes" : text;
}

}  // namespace

std::optional<Obligation> implication(const ir::Program& program,
                                      const std::vector<Divisibility>& others,
                                      const Divisibility& weak) {
  try {
    SizeTerms terms(program);
    const Term size = terms.size(weak.dim), axes = terms.axes(weak.axes);
    const auto dividend = polynomial_of(size), divisor = polynomial_of(axes);
    if (!dividend || !divisor) return std::nullopt;
    const std::vector<Equation> equations = equations_of(program, terms, others);
    std::vector<const Equation*> used;
    const auto witness = quotient(*dividend, *divisor, equations, used);
    if (!witness) return std::nullopt;
    Obligation result{
        to_string(weak), smt::Kind::size, claim_text(weak, used), {}, Term(0), false, {}};
    for (const Equation* equation : used) result.assumptions.push_back(equation->formula);
    result.goal = exists("q", smt::to_term(*witness), equal(size, axes * smt::integer("q")));
    for (const Term& each : variables_of(asserted(result))) result.example[each.name()] = {0, 1};
    return result;
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

std::vector<Divisibility> reduce_by_implication(const ir::Program& program,
                                                std::vector<Divisibility> conditions,
                                                smt::Solver& solver,
                                                std::vector<Obligation>* proofs) {
  // Tries the conditions that most likely follow first: sized dims, then few axes.
  std::vector<Divisibility> order = conditions;
  const auto sized = [&](const Divisibility& condition) {
    auto found = program.dims.find(condition.dim.factors.at(0));
    return found != program.dims.end() && found->second.size.has_value();
  };
  std::stable_sort(order.begin(), order.end(), [&](const Divisibility& a, const Divisibility& b) {
    if (sized(a) != sized(b)) return sized(a);
    return a.axes.size() < b.axes.size();
  });
  for (const Divisibility& weak : order) {
    std::vector<Divisibility> others = conditions;
    std::erase(others, weak);
    const auto obligation = implication(program, others, weak);
    if (!obligation || solver.prove(*obligation).result != smt::Result::proved) continue;
    conditions = std::move(others);
    if (proofs) proofs->push_back(*obligation);
  }
  return conditions;
}

std::vector<Independence> independent(const ir::Program& program,
                                      const std::vector<Divisibility>& conditions) {
  std::vector<Independence> result;
  for (const Divisibility& broken : conditions) {
    std::vector<Constraint> constraints = declared_constraints(program, nullptr);
    for (const Divisibility& condition : conditions)
      constraints.push_back(divides(program, condition, !(condition == broken)));
    result.push_back({broken, search_sizes(program, constraints)});
  }
  return result;
}

std::optional<Sizing> smallest_sizes(const ir::Program& program,
                                     const std::vector<Divisibility>& conditions,
                                     const ir::Function* function) {
  std::vector<Constraint> constraints = declared_constraints(program, function);
  for (const Divisibility& condition : conditions)
    constraints.push_back(divides(program, condition));
  return search_sizes(program, constraints);
}

std::string to_string(const Sizing& sizing) {
  std::string text;
  for (const auto& [name, size] : sizing)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

}  // namespace shardproof
