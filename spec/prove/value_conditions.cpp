#include "spec/prove/value_conditions.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "spec/algebra/engine.h"
#include "spec/check/requirements.h"
#include "spec/lower/instances.h"
#include "spec/lower/lower.h"

namespace shardproof {
namespace {

using algebra::AtomKind;
using algebra::Nf;
using smt::Term;

/// Normal forms as terms for the solver. Atoms that it does not know become variables.
class Terms {
 public:
  Terms(algebra::Algebra& algebra, const std::map<Name, int64_t>& sizes)
      : a_(algebra), g_(algebra.engine()), sizes_(sizes) {}

  Term of(Nf e) {
    Term sum(0);
    for (const algebra::Term& t : algebra::Poly(g_.terms(e))) {
      Term product = Term::number({t.coef.num, t.coef.den});
      for (const algebra::Factor& f : algebra::Mono(g_.factors(t.mono)))
        product = product * power(f.atom, f.exponent);
      sum = sum + product;
    }
    return sum;
  }

  Term of(const lower::Condition& c) {
    if (c.op == "not") return negate(of(c.args.at(0)));
    if (c.op == "and") return smt::conj({of(c.args.at(0)), of(c.args.at(1))});
    if (c.op == "or") return smt::disj({of(c.args.at(0)), of(c.args.at(1))});
    const Term left = of(c.left);
    if (c.op.empty()) return negate(equal(left, 0));
    const Term right = of(c.right);
    if (c.op == "==") return equal(left, right);
    if (c.op == "!=") return negate(equal(left, right));
    if (c.op == "<") return less(left, right);
    if (c.op == ">") return less(right, left);
    return c.op == "<=" ? less_equal(left, right) : less_equal(right, left);
  }

  const std::vector<Term>& facts() const { return facts_; }

 private:
  Term power(algebra::AtomId id, algebra::Rational exponent) {
    const bool whole = exponent.is_integer() && exponent.num > 0 && exponent.num <= 8;
    if (!whole) return root(id, exponent);
    Term product = atom(id);
    for (int64_t k = 1; k < exponent.num; ++k) product = product * atom(id);
    return product;
  }
  /// x^(p/q) as a variable r with r^q = x^p, or r^q x^-p = 1: roots are nonnegative, inverses
  /// nonzero.
  Term root(algebra::AtomId id, algebra::Rational exponent) {
    const std::string name = "p" + std::to_string(id) + "^" + exponent.text();
    const auto [found, fresh] = known_.try_emplace(name, smt::real("x" + std::to_string(count_)));
    const Term r = found->second;
    const int64_t p = exponent.num < 0 ? -exponent.num : exponent.num, q = exponent.den;
    if (!fresh) return r;
    ++count_;
    if (p > 8 || q > 8) return r;
    Term left(1), right(1);
    for (int64_t k = 0; k < q; ++k) left = left * r;
    for (int64_t k = 0; k < p; ++k) right = right * atom(id);
    facts_.push_back(exponent.num > 0 ? equal(left, right) : equal(left * right, 1));
    if (q > 1) facts_.push_back(less_equal(0, r));
    return r;
  }

  Term atom(algebra::AtomId id) {
    const std::string name = "a" + std::to_string(id);
    if (auto found = known_.find(name); found != known_.end()) return found->second;
    if (g_.atoms[id].kind == AtomKind::size)
      if (auto size = sizes_.find(g_.sizes.at(g_.atoms[id].ref)); size != sizes_.end())
        return Term::number({size->second, 1});
    const Nf e = g_.of_atom(id);
    const std::string variable = "x" + std::to_string(count_++);
    const Term x = a_.known_integer(e) ? smt::integer(variable) : smt::real(variable);
    known_.emplace(name, x);
    const algebra::Atom atom = g_.atoms[id];
    if (atom.kind == AtomKind::size) facts_.push_back(less_equal(1, x));
    if (atom.kind == AtomKind::var) facts_.push_back(less_equal(0, x));
    if (atom.kind == AtomKind::le0) decides(x, less_equal(of(atom.args.at(0)), 0));
    if (atom.kind == AtomKind::eq0) decides(x, equal(of(atom.args.at(0)), 0));
    if (atom.kind != AtomKind::app) return x;
    const algebra::TensorInfo tensor = g_.tensors[atom.ref];
    if (tensor.op == algebra::Op::iota) facts_.push_back(equal(x, of(atom.args.at(0))));
    if (tensor.op == algebra::Op::step && atom.args.empty()) decides(x, less(0, of(tensor.body)));
    if (tensor.op == algebra::Op::poly && atom.args.empty())
      facts_.push_back(equal(x, of(tensor.body)));
    if (tensor.op == algebra::Op::sealed) facts_.push_back(equal(x, of(g_.inner(id))));
    if (tensor.facts.boolean) facts_.push_back(smt::disj({equal(x, 0), equal(x, 1)}));
    if (tensor.facts.positive || tensor.op == algebra::Op::exp) facts_.push_back(less(0, x));
    return x;
  }
  void decides(const Term& x, const Term& condition) {
    facts_.push_back(smt::disj(
        {smt::conj({equal(x, 1), condition}), smt::conj({equal(x, 0), negate(condition)})}));
  }

  algebra::Algebra& a_;
  algebra::Engine& g_;
  const std::map<Name, int64_t>& sizes_;
  std::map<std::string, Term> known_;
  std::vector<Term> facts_;
  size_t count_ = 0;
};

/// The conditions of plan and model at the same leaves. A function without a normal form has none.
std::vector<lower::Condition> conditions_of(algebra::Algebra& algebra, const ir::Program& program,
                                            size_t plan) {
  std::vector<lower::Condition> result;
  lower::Variables variables;
  lower::Instances instances(algebra);
  std::vector<size_t> functions = {plan};
  if (program.functions[plan].model) functions.push_back(*program.functions[plan].model);
  for (size_t function : functions) try {
      lower::Request request;
      request.function = function, request.variables = &variables;
      lower::Lowered lowered = lower::lower_function(algebra, program, request, {});
      for (lower::Condition& each : lowered.conditions) result.push_back(std::move(each));
      for (const lower::Condition& each : lowered.bounds) instances.add(each, result);
    } catch (const std::runtime_error&) {
    } catch (const std::logic_error&) {
    }
  return result;
}

bool speaks_of_a_step(algebra::Algebra& a, const lower::Condition& c) {
  for (const lower::Condition& each : c.args)
    if (speaks_of_a_step(a, each)) return true;
  return c.args.empty() &&
         (lower::speaks_of_a_step(a, c.left) || lower::speaks_of_a_step(a, c.right));
}

/// Tries small numbers: formulas on which the solver gives up may have an easy solution.
bool satisfied_by_some(const std::vector<Term>& formulas) {
  std::mt19937 rng(1);
  const std::vector<Term> variables = variables_of(formulas);
  for (int attempt = 0; attempt < 2000; ++attempt) {
    smt::Model model;
    for (const Term& each : variables) {
      const auto number = static_cast<int64_t>(rng() % 9) - 4;
      const bool half = each.sort() == smt::Sort::real && rng() % 2 && number % 2 != 0;
      model[each.name()] = {number, half ? 2 : 1};
    }
    bool all = true;
    for (const Term& each : formulas) all = all && smt::holds(each, model).value_or(false);
    if (all) return true;
  }
  return false;
}

std::optional<ValueConflict> conflict_of(algebra::Algebra& algebra,
                                         const std::vector<lower::Condition>& conditions,
                                         const std::map<Name, int64_t>& sizes,
                                         size_t most_variables, smt::Solver& solver) {
  Terms terms(algebra, sizes);
  std::vector<Term> formulas;
  std::vector<std::string> words;
  for (const lower::Condition& each : conditions) {
    if (speaks_of_a_step(algebra, each)) continue;
    formulas.push_back(terms.of(each));
    words.push_back(each.words);
  }
  const size_t stated = formulas.size();
  formulas.insert(formulas.end(), terms.facts().begin(), terms.facts().end());
  if (satisfied_by_some(formulas)) return std::nullopt;
  if (variables_of(formulas).size() > most_variables) return ValueConflict{};
  const smt::Satisfaction found = solver.satisfy(formulas);
  if (found.kind == smt::Satisfaction::Kind::sat) return std::nullopt;
  ValueConflict conflict{found.kind, {}};
  std::set<std::string> told;
  for (size_t i : found.core)
    if (i < stated && told.insert(words[i]).second) conflict.words.push_back(words[i]);
  return conflict;
}

}  // namespace

std::optional<ValueConflict> conflict_of_values(const ir::Program& program, size_t plan,
                                                smt::Solver& solver) {
  if (!requires_values(program, plan)) return std::nullopt;
  algebra::Algebra algebra;
  return conflict_of(algebra, conditions_of(algebra, program, plan), {}, SIZE_MAX, solver);
}

std::optional<ValueConflict> conflict_of_values(const lower::Assumed& assumed,
                                                smt::Solver& solver) {
  constexpr size_t most_variables = 16;  // of more, with their roots, the solver decides little
  try {
    return conflict_of(*assumed.algebra, assumed.conditions, assumed.sizes, most_variables, solver);
  } catch (const algebra::BudgetExceeded&) {
    return ValueConflict{};
  }
}

}  // namespace shardproof
