#include "spec/prove/size_terms.h"

#include <cctype>
#include <set>
#include <stdexcept>

#include "spec/ir/decimal.h"
#include "spec/ir/walk.h"
#include "spec/prove/axis_digits.h"

namespace shardproof {

using smt::conj;
using smt::disj;
using smt::Term;

namespace {

/// A decimal as a fraction. Throws std::domain_error if it exceeds 64 bits.
smt::Fraction decimal(const std::string& text) try {
  if (text.starts_with('-')) {
    const smt::Fraction above = decimal(text.substr(1));
    return {-above.numerator, above.denominator};
  }
  const algebra::Rational value = algebra::decimal(text);
  return {value.num, value.den};
} catch (const algebra::Overflow&) {
  throw std::domain_error(text + " is beyond what the solver is given");
}

bool positive_number(const Term& term) {
  return term.op() == Term::Op::constant && term.value().numerator > 0;
}

}  // namespace

Term SizeTerms::axis(const Axis& name) const {
  auto found = program_.axes.find(name);
  if (found != program_.axes.end() && found->second.size) return Term(*found->second.size);
  return radix_of(name);
}

Term SizeTerms::axes(const std::vector<Axis>& names) const {
  Term result(1);
  for (const Axis& name : names) result = result * axis(name);
  return result;
}

Term SizeTerms::fresh(const std::string& stem) {
  return smt::integer(stem + "." + std::to_string(count_++));
}

void SizeTerms::define(const Term& formula, const std::string& words) {
  definitions_.push_back({formula, words, {}, false});
}

Term SizeTerms::known(const std::string& name) {
  auto [found, inserted] = sizes_.emplace(name, smt::integer(dim_symbol(Dim{{name}})));
  if (inserted) define(less_equal(1, found->second), "|" + name + "| >= 1");
  return found->second;
}

Term SizeTerms::size(const Dim& dim) {
  Term result(1);
  for (const Name& base : program_.base(dim)) {
    auto info = program_.dims.find(base);
    if (info == program_.dims.end() || !info->second.size) {
      result = result * (std::isdigit(static_cast<unsigned char>(base[0])) ? Term(std::stoll(base))
                                                                           : known(base));
      continue;
    }
    const Fraction value = fraction(*info->second.size);
    if (value.denominator.is_number(1)) {
      if (!positive_number(value.numerator) && !sizes_.contains(base)) {
        sizes_.emplace(base, value.numerator);
        define(less_equal(1, value.numerator), "|" + base + "| >= 1");
      }
      result = result * value.numerator;
    } else {
      const bool first = !sizes_.contains(base);
      const Term whole = known(base);
      if (first)
        define(equal(whole * value.denominator, value.numerator),
               "|" + base + "| = " + ir::to_string(*info->second.size) + " is whole");
      result = result * whole;
    }
  }
  return result;
}

Term SizeTerms::condition(const Divisibility& condition) {
  const Term quotient = smt::integer(dim_symbol(condition.dim) + ".by." +
                                     [&] {
                                       std::string text;
                                       for (const Axis& axis : condition.axes) text += "." + axis;
                                       return text;
                                     }()
                                         .substr(1));
  return conj(
      {equal(size(condition.dim), axes(condition.axes) * quotient), less_equal(1, quotient)});
}

std::vector<SizeFact> SizeTerms::definitions() const {
  std::vector<SizeFact> result;
  for (const auto& [name, info] : program_.axes)
    if (!info.size) result.push_back({less_equal(1, axis(name)), "|" + name + "| >= 1", {}, false});
  result.insert(result.end(), definitions_.begin(), definitions_.end());
  return result;
}

SizeTerms::Fraction SizeTerms::fraction(const ir::Arith& arith) {
  switch (arith.kind) {
    case ir::Arith::Kind::number: {
      const smt::Fraction value = decimal(arith.text);
      return {Term(value.numerator), Term(value.denominator)};
    }
    case ir::Arith::Kind::size:
      return {size(Dim{{arith.text}}), Term(1)};
    case ir::Arith::Kind::axis:
      return {axis(arith.text), Term(1)};
    case ir::Arith::Kind::value: {
      auto found = numbers_.find(arith.value);
      if (found == numbers_.end())
        return {smt::real("value." + std::to_string(arith.value)), Term(1)};
      const smt::Fraction value = decimal(found->second);
      return {Term(value.numerator), Term(value.denominator)};
    }
    case ir::Arith::Kind::op:
      break;
  }
  return operation(arith);
}

/// The integer q with q <= a/b < q + 1; b is not 0.
Term SizeTerms::floor_of(const Fraction& a, const Fraction& b) {
  const Term over = a.numerator * b.denominator, under = a.denominator * b.numerator;
  const std::string key = to_smtlib(over) + " // " + to_smtlib(under);
  if (auto found = quotients_.find(key); found != quotients_.end()) return found->second;
  const Term q = fresh("floor");
  const Term step = over - q * under;
  define(disj({conj({less(0, under), less_equal(0, step), less(step, under)}),
               conj({less(under, 0), less_equal(step, 0), less(under, step)})}),
         "a quotient rounded down");
  return quotients_.emplace(key, q).first->second;
}

SizeTerms::Fraction SizeTerms::operation(const ir::Arith& arith) {
  const Fraction a = fraction(arith.args.at(0));
  if (arith.text == "neg") return {Term(-1) * a.numerator, a.denominator};
  const Fraction b = fraction(arith.args.at(1));
  const bool whole = a.denominator.is_number(1) && b.denominator.is_number(1);
  if (arith.text == "+" || arith.text == "-") {
    const Term right = arith.text == "+" ? b.numerator : Term(-1) * b.numerator;
    if (whole) return {a.numerator + right, Term(1)};
    return {a.numerator * b.denominator + right * a.denominator, a.denominator * b.denominator};
  }
  if (arith.text == "*") return {a.numerator * b.numerator, a.denominator * b.denominator};
  if (arith.text == "/") {
    define(negate(equal(b.numerator, 0)), "a divisor is not 0");
    return {a.numerator * b.denominator, a.denominator * b.numerator};
  }
  if (arith.text == "//") return {floor_of(a, b), Term(1)};
  if (arith.text == "%") {
    const Term q = floor_of(a, b);
    return {a.numerator * b.denominator - q * b.numerator * a.denominator,
            a.denominator * b.denominator};
  }
  throw std::domain_error("`" + arith.text + "` is not a number");
}

Term SizeTerms::comparison(const ir::Arith& arith, bool stated) {
  const ir::Arith &left = arith.args.at(0), &right = arith.args.at(1);
  const bool remainder = left.kind == ir::Arith::Kind::op && left.text == "%" &&
                         right.kind == ir::Arith::Kind::number && right.text == "0";
  if (stated && remainder && arith.text == "==") {
    const Fraction a = fraction(left.args.at(0)), b = fraction(left.args.at(1));
    return equal(a.numerator * b.denominator, b.numerator * a.denominator * fresh("times"));
  }
  const Fraction a = fraction(left), b = fraction(right);
  // Multiplied by the squares of the denominators: their signs are not known.
  const bool positive = positive_number(a.denominator) && positive_number(b.denominator);
  const Term more = positive ? Term(1) : a.denominator * b.denominator;
  const Term x = a.numerator * b.denominator * more, y = b.numerator * a.denominator * more;
  if (arith.text == "==") return equal(x, y);
  if (arith.text == "!=") return negate(equal(x, y));
  if (arith.text == "<") return less(x, y);
  if (arith.text == ">") return less(y, x);
  if (arith.text == "<=") return less_equal(x, y);
  if (arith.text == ">=") return less_equal(y, x);
  throw std::domain_error("`" + arith.text + "` is not a condition");
}

/// `stated`: the formula is asserted, so a new variable may replace an `exists`.
Term SizeTerms::truth(const ir::Arith& arith, bool stated) {
  if (arith.kind == ir::Arith::Kind::op && arith.text == "and")
    return conj({truth(arith.args.at(0), stated), truth(arith.args.at(1), stated)});
  if (arith.kind == ir::Arith::Kind::op && arith.text == "or")
    return disj({truth(arith.args.at(0), false), truth(arith.args.at(1), false)});
  if (arith.kind == ir::Arith::Kind::op && arith.text == "not")
    return negate(truth(arith.args.at(0), false));
  if (arith.kind != ir::Arith::Kind::op) {
    const Fraction value = fraction(arith);
    return negate(equal(value.numerator, 0));
  }
  return comparison(arith, stated);
}

Term SizeTerms::requirement(const ir::Arith& condition,
                            const std::map<ir::ValueId, std::string>& numbers) {
  numbers_ = numbers;
  return truth(condition, true);
}

std::map<ir::ValueId, std::string> literals_of(const ir::Function& function) {
  std::map<ir::ValueId, std::string> result;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    if (auto* number = std::get_if<ir::Number>(&instr.op))
      result[instr.results.at(0)] = number->text;
  });
  return result;
}

std::vector<ir::Requirement> requirements_of(const ir::Program& program,
                                             const ir::Function* function) {
  std::vector<ir::Requirement> result = program.requirements;
  if (!function) return result;
  for (ir::Requirement& each : program.consistency(*function)) result.push_back(std::move(each));
  add_requirements(*function, true, result);
  std::set<size_t> reached;
  add_reached(program, *function, reached);
  for (const size_t f : reached) add_requirements(program.functions.at(f), false, result);
  return result;
}

}  // namespace shardproof
