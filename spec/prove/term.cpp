#include "spec/prove/term.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>

namespace shardproof::smt {

struct Term::Node {
  Op op;
  Sort sort;
  Fraction value;
  std::string name;
  std::vector<Term> args;
};

std::string to_string(const Fraction& value) {
  std::string text = std::to_string(value.numerator);
  return value.denominator == 1 ? text : text + "/" + std::to_string(value.denominator);
}

Term::Term(int64_t value) : Term(number({value, 1})) {}

Term Term::number(Fraction value) {
  const Sort sort = value.denominator == 1 ? Sort::integer : Sort::real;
  return Term(std::make_shared<const Node>(Node{Op::constant, sort, value, "", {}}));
}

Term Term::truth(bool value) {
  return Term(std::make_shared<const Node>(Node{Op::constant, Sort::boolean, {value, 1}, "", {}}));
}

Term Term::variable(std::string name, Sort sort) {
  return Term(std::make_shared<const Node>(Node{Op::variable, sort, {}, std::move(name), {}}));
}

Term Term::apply(std::string name, std::vector<Term> args) {
  return Term(std::make_shared<const Node>(
      Node{Op::apply, Sort::real, {}, std::move(name), std::move(args)}));
}

Term Term::make(Op op, Sort sort, std::vector<Term> args) {
  return Term(std::make_shared<const Node>(Node{op, sort, {}, "", std::move(args)}));
}

Term::Op Term::op() const { return node_->op; }
Sort Term::sort() const { return node_->sort; }
const std::string& Term::name() const { return node_->name; }
const Fraction& Term::value() const { return node_->value; }
const std::vector<Term>& Term::args() const { return node_->args; }
bool Term::is_number(int64_t value) const {
  return op() == Op::constant && sort() != Sort::boolean && this->value() == Fraction{value, 1};
}

namespace {

std::optional<Fraction> reduced(__int128 numerator, __int128 denominator) {
  if (denominator == 0) return std::nullopt;
  __int128 a = numerator < 0 ? -numerator : numerator;
  __int128 b = denominator < 0 ? -denominator : denominator;
  while (b != 0) std::swap(a %= b, b);
  if (a == 0) a = 1;
  if (denominator < 0) a = -a;
  numerator /= a, denominator /= a;
  if (numerator > INT64_MAX || numerator < INT64_MIN || denominator > INT64_MAX)
    return std::nullopt;
  return Fraction{static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)};
}

std::optional<Fraction> plus(const Fraction& a, const Fraction& b) {
  return reduced(static_cast<__int128>(a.numerator) * b.denominator +
                     static_cast<__int128>(b.numerator) * a.denominator,
                 static_cast<__int128>(a.denominator) * b.denominator);
}
std::optional<Fraction> times(const Fraction& a, const Fraction& b) {
  return reduced(static_cast<__int128>(a.numerator) * b.numerator,
                 static_cast<__int128>(a.denominator) * b.denominator);
}
bool below(const Fraction& a, const Fraction& b) {
  return static_cast<__int128>(a.numerator) * b.denominator <
         static_cast<__int128>(b.numerator) * a.denominator;
}

bool is_constant(const Term& term) { return term.op() == Term::Op::constant; }

Sort joined(const std::vector<Term>& args) {
  for (const Term& arg : args)
    if (arg.sort() == Sort::real) return Sort::real;
  return Sort::integer;
}

/// Flattens nested sums or products into one list, with constants folded into one at the front.
std::vector<Term> flattened(Term::Op op, const Term& a, const Term& b) {
  std::vector<Term> rest;
  Fraction folded{op == Term::Op::add ? 0 : 1, 1};
  auto take = [&](const Term& term) {
    auto next = is_constant(term) ? (op == Term::Op::add ? plus(folded, term.value())
                                                         : times(folded, term.value()))
                                  : std::nullopt;
    if (next)
      folded = *next;
    else
      rest.push_back(term);
  };
  for (const Term* side : {&a, &b}) {
    if (side->op() != op)
      take(*side);
    else
      for (const Term& arg : side->args()) take(arg);
  }
  rest.insert(rest.begin(), Term::number(folded));
  return rest;
}

}  // namespace

Term operator+(const Term& a, const Term& b) {
  std::vector<Term> args = flattened(Term::Op::add, a, b);
  if (args.size() == 1) return args[0];
  if (args[0].is_number(0)) args.erase(args.begin());
  if (args.size() == 1) return args[0];
  const Sort sort = joined(args);
  return Term::make(Term::Op::add, sort, std::move(args));
}

Term operator*(const Term& a, const Term& b) {
  std::vector<Term> args = flattened(Term::Op::mul, a, b);
  if (args.size() == 1 || args[0].is_number(0)) return args[0];
  if (args[0].is_number(1)) args.erase(args.begin());
  if (args.size() == 1) return args[0];
  const Sort sort = joined(args);
  return Term::make(Term::Op::mul, sort, std::move(args));
}

Term operator-(const Term& a, const Term& b) { return a + Term(-1) * b; }
Term equal(const Term& a, const Term& b) { return Term::make(Term::Op::eq, Sort::boolean, {a, b}); }
Term less_equal(const Term& a, const Term& b) {
  return Term::make(Term::Op::le, Sort::boolean, {a, b});
}
Term less(const Term& a, const Term& b) { return Term::make(Term::Op::lt, Sort::boolean, {a, b}); }
Term negate(const Term& a) { return Term::make(Term::Op::negation, Sort::boolean, {a}); }

Term conj(std::vector<Term> args) {
  if (args.empty()) return Term::truth(true);
  if (args.size() == 1) return args[0];
  return Term::make(Term::Op::conj, Sort::boolean, std::move(args));
}

Term disj(std::vector<Term> args) {
  if (args.empty()) return Term::truth(false);
  if (args.size() == 1) return args[0];
  return Term::make(Term::Op::disj, Sort::boolean, std::move(args));
}

Term product(const std::vector<Term>& factors) {
  Term result(1);
  for (const Term& factor : factors) result = result * factor;
  return result;
}

Term integer(const std::string& name) { return Term::variable(name, Sort::integer); }
Term real(const std::string& name) { return Term::variable(name, Sort::real); }

Term exists(const std::string& variable, const Term& witness, const Term& body) {
  if (body.op() == Term::Op::variable) return body.name() == variable ? witness : body;
  std::vector<Term> args;
  for (const Term& arg : body.args()) args.push_back(exists(variable, witness, arg));
  switch (body.op()) {
    case Term::Op::add:
    case Term::Op::mul: {
      Term result = args.at(0);
      for (size_t i = 1; i < args.size(); ++i)
        result = body.op() == Term::Op::add ? result + args[i] : result * args[i];
      return result;
    }
    case Term::Op::eq:
      return equal(args[0], args[1]);
    case Term::Op::le:
      return less_equal(args[0], args[1]);
    case Term::Op::lt:
      return less(args[0], args[1]);
    case Term::Op::conj:
      return conj(std::move(args));
    case Term::Op::disj:
      return disj(std::move(args));
    case Term::Op::negation:
      return negate(args[0]);
    case Term::Op::apply:
      return Term::apply(body.name(), std::move(args));
    case Term::Op::constant:
    case Term::Op::variable:
      break;
  }
  return body;
}

std::vector<Term> variables_of(const std::vector<Term>& terms) {
  std::vector<Term> found;
  std::set<std::string> names;
  std::set<const void*> seen;
  const std::function<void(const Term&)> visit = [&](const Term& term) {
    if (!seen.insert(term.identity()).second) return;
    if (term.op() == Term::Op::variable && names.insert(term.name()).second) found.push_back(term);
    for (const Term& arg : term.args()) visit(arg);
  };
  for (const Term& term : terms) visit(term);
  return found;
}

namespace {

std::optional<Fraction> evaluate_logic(const Term& term, const std::vector<Fraction>& x) {
  auto truth = [](bool value) { return Fraction{value, 1}; };
  auto is_true = [](const Fraction& value) { return value.numerator != 0; };
  switch (term.op()) {
    case Term::Op::eq:
      return truth(x[0] == x[1]);
    case Term::Op::le:
      return truth(!below(x[1], x[0]));
    case Term::Op::lt:
      return truth(below(x[0], x[1]));
    case Term::Op::conj:
      return truth(std::all_of(x.begin(), x.end(), is_true));
    case Term::Op::disj:
      return truth(std::any_of(x.begin(), x.end(), is_true));
    case Term::Op::negation:
      return truth(!is_true(x[0]));
    case Term::Op::constant:
    case Term::Op::variable:
    case Term::Op::apply:
    case Term::Op::add:
    case Term::Op::mul:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fraction> evaluate(const Term& term, const Model& model) {
  if (term.op() == Term::Op::constant) return term.value();
  if (term.op() == Term::Op::variable) {
    auto found = model.find(term.name());
    return found == model.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<Fraction> args;
  for (const Term& arg : term.args()) {
    auto value = evaluate(arg, model);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  if (term.op() != Term::Op::add && term.op() != Term::Op::mul) return evaluate_logic(term, args);
  std::optional<Fraction> result = args.at(0);
  for (size_t i = 1; i < args.size() && result; ++i)
    result = term.op() == Term::Op::add ? plus(*result, args[i]) : times(*result, args[i]);
  return result;
}

std::optional<bool> holds(const Term& formula, const Model& model) {
  auto value = evaluate(formula, model);
  if (!value) return std::nullopt;
  return value->numerator != 0;
}

}  // namespace shardproof::smt
