// Literals, sizes and `require`.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "spec/algebra/engine.h"
#include "spec/ir/decimal.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

// Coefficients are int64.
constexpr int64_t exact_limit = 1'000'000'000'000, square_fits = 3'000'000'000;

/// The literal, if sums of such numbers fit into 64 bits; `most`: its numerator.
std::optional<algebra::Rational> short_decimal(const std::string& text, int64_t most) {
  try {
    const algebra::Rational value = algebra::decimal(text);
    if (value.num <= most && value.den <= exact_limit) return value;
  } catch (const algebra::Overflow&) {
  }
  return std::nullopt;
}

std::string shown(const ir::Arith& arith, const Frame* frame) {
  ir::Arith copy = arith;
  if (copy.kind == ir::Arith::Kind::value && frame != nullptr)
    copy.text = frame->function.values.at(copy.value).name;
  if (copy.kind == ir::Arith::Kind::value && copy.text.empty()) copy.text = "a value";
  if (copy.kind != ir::Arith::Kind::op) return ir::to_string(copy);
  for (ir::Arith& arg : copy.args) {
    arg.text = shown(arg, frame);
    if (arg.kind == ir::Arith::Kind::op && copy.args.size() > 1) arg.text = "(" + arg.text + ")";
    arg.kind = ir::Arith::Kind::number, arg.args.clear();
  }
  return ir::to_string(copy);
}

Nf operate(algebra::Algebra& a, const std::string& op, const std::vector<Nf>& x) {
  if (op == "neg") return a.neg(x.at(0));
  if (op == "not") return a.sub(a.number(1), x.at(0));
  const Nf l = x.at(0), r = x.at(1);
  if (op == "+") return a.add(l, r);
  if (op == "-") return a.sub(l, r);
  if (op == "*") return a.mul(l, r);
  if (op == "/") return a.div(l, r);
  if (op == "//") return a.floordiv(l, r);
  if (op == "%") return a.mod(l, r);
  throw std::logic_error("a condition inside arithmetic");
}

/// sqrt(num / den) * sqrt(pi)^roots_of_pi: what a literal with these digits stands for.
struct Named {
  const char* digits;
  int64_t num, den, roots_of_pi;
};
constexpr Named constants[] = {
    {"6.283185307179586", 4, 1, 2},    // 2 pi
    {"0.3989422804014327", 1, 2, -1},  // 1 / sqrt(2 pi)
    {"2.5066282746310002", 2, 1, 1},   // sqrt(2 pi)
    {"0.7978845608028654", 2, 1, -1},  // sqrt(2 / pi)
    {"1.5957691216057308", 8, 1, -1},  // 2 sqrt(2 / pi)
    {"1.1283791670955126", 4, 1, -1},  // 2 / sqrt(pi)
    {"0.7071067811865476", 1, 2, 0},   // 1 / sqrt(2)
    {"1.4142135623730951", 2, 1, 0},   // sqrt(2)
};

std::optional<Nf> named_constant(algebra::Algebra& a, const std::string& digits) {
  for (const Named& known : constants)
    if (digits == known.digits)
      return a.mul(a.pow(a.number({known.num, known.den}), {1, 2}),
                   a.pow(pi(a), {known.roots_of_pi, 2}));
  return std::nullopt;
}

/// A positive constant named by its digits; nothing else is known about it.
Nf constant(algebra::Algebra& a, const std::string& digits) {
  algebra::LeafFacts facts;
  facts.positive = true;
  return a.at(a.leaf(digits, {}, facts), {});
}

/// 1e10, however it is written, is 10 times the constant 1e9: the square of a mask's number would
/// overflow. Throws algebra::Overflow.
std::optional<Nf> in_billions(algebra::Algebra& a, const std::string& text) {
  constexpr int64_t places = 9;
  const size_t e = text.find_first_of("eE");
  algebra::Rational rest = algebra::decimal(text.substr(0, e));
  int64_t exponent = e == std::string::npos ? 0 : std::stoll(text.substr(e + 1));
  if (rest.is_zero()) return std::nullopt;
  for (; rest.num % 10 == 0; ++exponent) rest = rest / 10;
  for (int64_t left = exponent % places; left != 0; left += left > 0 ? -1 : 1)
    rest = left > 0 ? rest * 10 : rest / 10;
  if (exponent / places == 0 || rest.num > square_fits || rest.den > exact_limit)
    return std::nullopt;
  return a.mul(a.number(rest), a.pow(constant(a, "1e9"), {exponent / places}));
}

/// Empty if it has too many digits.
std::optional<Nf> round_number(algebra::Algebra& a, const std::string& text) {
  try {
    return in_billions(a, text);
  } catch (const algebra::Overflow&) {
    return std::nullopt;
  }
}

}  // namespace

/// The same leaf as for these digits in source text.
Nf pi(algebra::Algebra& a) { return constant(a, "3.141592653589793"); }

Nf number(algebra::Algebra& a, const std::string& text) {
  if (text == "true" || text == "false") return a.number(text == "true" ? 1 : 0);
  if (!text.empty() && text[0] == '-') return a.neg(number(a, text.substr(1)));
  if (auto exact = short_decimal(text, square_fits)) return a.number(*exact);
  if (auto round = round_number(a, text)) return *round;
  if (auto exact = short_decimal(text, exact_limit)) return a.number(*exact);
  if (auto known = named_constant(a, text)) return *known;
  return constant(a, text);
}

Nf Context::arith(const ir::Arith& arith, const Frame* frame) {
  switch (arith.kind) {
    case ir::Arith::Kind::number:
      return number(a, arith.text);
    case ir::Arith::Kind::size:
      return size(Dim{{arith.text}});
    case ir::Arith::Kind::axis:
      return axis(arith.text);
    case ir::Arith::Kind::value:
      return frame->values.at(arith.value)->body;
    case ir::Arith::Kind::op:
      break;
  }
  std::vector<Nf> args;
  for (const ir::Arith& arg : arith.args) args.push_back(this->arith(arg, frame));
  return operate(a, arith.text, args);
}

bool Context::ready(const ir::Arith& arith, const Frame& frame) const {
  if (arith.kind == ir::Arith::Kind::value) return frame.values.at(arith.value).has_value();
  for (const ir::Arith& arg : arith.args)
    if (!ready(arg, frame)) return false;
  return true;
}

/// A callee's condition in terms of the caller's arguments: the callee's own names would mean other
/// values here.
std::string Context::shown_at_call(const ir::Arith& condition, const Frame* frame) {
  static const std::set<std::string> comparisons = {">", ">=", "<", "<=", "==", "!="};
  const bool compares = condition.kind == ir::Arith::Kind::op && comparisons.count(condition.text);
  if (!compares || !ir::uses_values(condition)) return shown(condition, frame);
  return a.show(arith(condition.args.at(0), frame)) + " " + condition.text + " " +
         a.show(arith(condition.args.at(1), frame));
}

namespace {

ir::Arith operation(const std::string& op, ir::Arith left, ir::Arith right) {
  return {ir::Arith::Kind::op, op, ir::no_value, {std::move(left), std::move(right)}};
}

ir::Arith written(int64_t number) {
  return {ir::Arith::Kind::number, std::to_string(number), ir::no_value, {}};
}

/// A term of sizes divided by 1 with `op`, // or %, as numerator and common denominator.
std::optional<ir::Arith> divided(algebra::Algebra& algebra, Nf term, const std::string& op) {
  int64_t by = 1;
  for (const algebra::Term& t : algebra.engine().terms(term)) by = std::lcm(by, t.coef.den);
  auto times = sizes_alone(algebra, algebra.mul(term, algebra.number(by)));
  if (!times) return std::nullopt;
  return operation(op, std::move(*times), written(by));
}

}  // namespace

std::optional<ir::Arith> sizes_alone(algebra::Algebra& algebra, Nf term) {
  algebra::Engine& g = algebra.engine();
  std::optional<ir::Arith> sum;
  for (const algebra::Term& t : g.terms(term)) {
    ir::Arith product = written(t.coef.num);
    if (t.coef.den != 1) product = operation("/", std::move(product), written(t.coef.den));
    for (const algebra::Factor& f : g.factors(t.mono)) {
      const algebra::Atom& atom = g.atoms[f.atom];
      if (!f.exponent.is_integer()) return std::nullopt;
      ir::Arith size;
      if (atom.kind == algebra::AtomKind::size) {
        size = {ir::Arith::Kind::size, g.sizes.at(atom.ref), ir::no_value, {}};
      } else if (g.is_op(f.atom, algebra::Op::floor)) {
        auto whole = divided(algebra, g.inner(f.atom), "//");
        if (!whole) return std::nullopt;
        size = std::move(*whole);
      } else if (g.is_op(f.atom, algebra::Op::poly) || g.is_op(f.atom, algebra::Op::sealed)) {
        auto inside = sizes_alone(algebra, g.strip_iota(g.inner(f.atom)));
        if (!inside) return std::nullopt;
        size = std::move(*inside);
      } else {
        return std::nullopt;
      }
      const bool one = product.text == "1" && f.exponent.num > 0;
      for (int64_t k = 0; k < std::abs(f.exponent.num); ++k)
        product = k == 0 && one
                      ? size
                      : operation(f.exponent.num > 0 ? "*" : "/", std::move(product), size);
    }
    sum = sum ? operation("+", std::move(*sum), std::move(product)) : product;
  }
  return sum ? sum : written(0);
}

std::optional<ir::OfIndices> indices_alone(algebra::Algebra& a, const std::string& text, Nf term,
                                           const std::string& op) {
  ir::OfIndices found{text, op, {}, {}};
  term = a.engine().strip_iota(term);
  std::vector<std::pair<algebra::Var, Nf>> one_less;
  for (const algebra::Var var : a.variables(term)) {
    auto range = sizes_alone(a, a.range(var));
    if (!range) return std::nullopt;
    found.indices.emplace_back("#" + std::to_string(found.indices.size()), std::move(*range));
    // A size is at least 1, and an index at least 0.
    one_less.push_back({var, a.sub(a.size(found.indices.back().first), a.number(1))});
  }
  if (one_less.empty()) return std::nullopt;
  auto base = sizes_alone(a, a.engine().strip_iota(a.substitute(term, one_less)));
  if (!base) return std::nullopt;
  found.base = std::move(*base);
  return found;
}

std::array<Nf, 2> Context::at_ends(Nf e) {
  std::vector<std::pair<Var, Nf>> first, last;
  for (Var v : a.variables(e)) {
    first.push_back({v, a.number(0)});
    last.push_back({v, a.sub(a.range(v), a.number(1))});
  }
  return {a.substitute(e, first), a.substitute(e, last)};
}

void Context::assume(const std::string& text, Nf left, const std::string& op, Nf right) {
  if (const Nf gap = a.sub(left, right); !quiet() && op == "<=" && !a.variables(gap).empty()) {
    const std::array<Nf, 2> ends = at_ends(gap);
    if (a.known_positive(ends[0]) || a.known_positive(ends[1])) never(text);
  }
  auto l = sizes_alone(a, left), r = sizes_alone(a, right);
  if (!quiet() && (!l || !r))
    if (auto condition = indices_alone(a, text, a.sub(left, right), op))
      of_indices.push_back(std::move(*condition));
  if (!l || !r) return assume(text);
  const ir::Arith assumed = operation(op, std::move(*l), std::move(*r));
  assume_of_sizes(text, ir::sizes_in(assumed));
  if (!quiet()) of_sizes.push_back(assumed);
}

void Context::assume_whole(const std::string& text, Nf value) {
  auto rest = divided(a, value, "%");
  if (!rest) return assume(text);
  assume_of_sizes(text, ir::sizes_in(*rest));
  if (!quiet()) of_sizes.push_back(operation("==", std::move(*rest), written(0)));
}

Condition Context::condition(const ir::Arith& arith, const Frame* frame) {
  static const std::set<std::string> comparisons = {">", ">=", "<", "<=", "==", "!="};
  static const std::set<std::string> connectives = {"and", "or", "not"};
  Condition result;
  if (arith.kind == ir::Arith::Kind::op && connectives.count(arith.text)) {
    result.op = arith.text;
    for (const ir::Arith& arg : arith.args) result.args.push_back(condition(arg, frame));
  } else if (arith.kind == ir::Arith::Kind::op && comparisons.count(arith.text)) {
    result.op = arith.text;
    result.left = this->arith(arith.args.at(0), frame);
    result.right = this->arith(arith.args.at(1), frame);
  } else {
    result.left = this->arith(arith, frame);
  }
  return result;
}

bool Context::declare(Nf l, const std::string& op, Nf r) {
  const bool greater = op == ">" || op == ">=", weak = op == ">=" || op == "<=";
  Nf gap = greater ? a.sub(l, r) : a.sub(r, l);
  const bool strict = !weak || a.known_integer(gap);  // of integers, x >= 0 is x + 1 > 0
  if (weak && strict) gap = a.add(gap, a.number(1));
  if (a.known_positive(gap)) return false;
  const Nf opposite = greater ? a.sub(r, l) : a.sub(l, r);
  if (weak ? a.known_positive(opposite) : a.known_nonnegative(opposite))
    never(a.show(l) + " " + op + " " + a.show(r));
  if (mentions_carry(gap)) return true;
  if (strict && !a.as_number(gap)) a.declare_positive(gap);
  a.declare_bound(gap, strict);
  return true;
}

/// For a size that is at least a size or a number: a bound of indices, such as |V| <= |P| for an
/// index below |V|.
void Context::declare_gap(Nf l, const std::string& op, Nf r) {
  const bool greater = op == ">" || op == ">=", weak = op == ">=" || op == "<=";
  const Nf gap = a.add(greater ? a.sub(l, r) : a.sub(r, l), a.number(weak ? 1 : 0));
  if (a.known_integer(gap) && a.length(gap) > 1) a.declare_range(gap);
}

/// Uses positivity and divisibility. Other conditions only appear in the report. Skips conditions
/// that are already known.
void Context::require(const ir::Arith& condition, const Frame* frame) {
  const std::string& op = condition.text;
  if (!(condition.kind == ir::Arith::Kind::op && op == "and")) {
    conditions.push_back(this->condition(condition, frame));
    conditions.back().words =
        frame != nullptr && !frame->top ? shown_at_call(condition, frame) : shown(condition, frame);
  }
  if (condition.kind == ir::Arith::Kind::op && op == "and") {
    for (const ir::Arith& arg : condition.args) require(arg, frame);
    return;
  }
  const bool ordered = op == ">" || op == ">=" || op == "<" || op == "<=";
  if (condition.kind == ir::Arith::Kind::op && ordered) {
    const Nf left = arith(condition.args.at(0), frame), right = arith(condition.args.at(1), frame);
    if (!declare(left, op, right)) return;
    const bool greater = op[0] == '>';
    const ir::Arith &more = condition.args.at(greater ? 0 : 1), &less = condition.args.at(greater);
    constexpr int most_numbers = 64;  // each is compared with those before it
    const bool bounds = more.kind == ir::Arith::Kind::size &&
                        (less.kind == more.kind || (less.kind == ir::Arith::Kind::number &&
                                                    ++required_numbers_ <= most_numbers));
    if (frame == nullptr && bounds) declare_gap(left, op, right);
  } else if (op == "==" && condition.args.at(0).text == "%" &&
             condition.args.at(0).args.size() == 2) {
    const ir::Arith& mod = condition.args[0];
    const Nf whole = arith(mod.args[0], frame), part = arith(mod.args[1], frame);
    const Nf ratio = a.div(whole, part);
    const auto rest = a.as_number(arith(condition.args[1], frame));
    // A range is at least 1. A remainder says nothing about the sign.
    const bool positive = a.known_positive(whole) && a.known_positive(part);
    if (rest && rest->is_zero() && positive && a.variables(ratio).empty() && frame == nullptr)
      a.declare_range(ratio);
  }
  const lower::Condition& stated = conditions.back();
  // One of the file makes its sides one term, and is an assumption all the same.
  if (op == "==" && frame != nullptr && a.is_zero(a.sub(stated.left, stated.right))) return;
  const std::string text =
      frame != nullptr && !frame->top ? shown_at_call(condition, frame) : shown(condition, frame);
  const bool read_elsewhere = frame == nullptr || (frame->top && !ir::uses_values(condition));
  if (read_elsewhere) return assume_of_sizes(text, ir::sizes_in(condition));
  if (!stated.args.empty() || stated.op.empty()) return assume(text);
  assume(text, stated.left, stated.op, stated.right);
}

}  // namespace shardproof::lower
