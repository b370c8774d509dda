#include "spec/prove/symbolic.h"

namespace shardproof {

using smt::Term;

namespace {
thread_local Path* active = nullptr;
}

Path& Path::current() {
  if (!active) throw denote::Unsupported("a symbolic value outside a symbolic run");
  return *active;
}

void Path::explore(const std::function<void(Path&)>& body) {
  struct Active {
    ~Active() { active = nullptr; }
  } reset;
  std::vector<bool> decisions;
  for (;;) {
    Path path;
    path.decisions_ = decisions;
    active = &path;
    body(path);
    decisions = path.decisions_;
    while (!decisions.empty() && decisions.back()) decisions.pop_back();
    if (decisions.empty()) return;
    decisions.back() = true;
  }
}

bool Path::decide(const Term& question) {
  if (auto known = holds(question, {})) return *known;
  auto [asked, fresh] = asked_.emplace(to_smtlib(question), false);
  if (!fresh) return asked->second;
  if (next_ == decisions_.size()) decisions_.push_back(false);
  const bool answer = asked->second = decisions_[next_++];
  answers_.push_back(answer ? question : negate(question));
  return answer;
}

/// q with q * b = a, for b != 0.
Term Path::quotient(const Term& a, const Term& b) {
  if (auto number = evaluate(b, {}); number && number->numerator > 0)
    return a * Term::number({number->denominator, number->numerator});
  const std::string key = to_smtlib(a) + " / " + to_smtlib(b);
  auto [found, fresh] =
      quotients_.emplace(key, smt::real("quotient." + std::to_string(quotients_.size())));
  if (fresh) {
    definitions_.push_back(negate(equal(b, 0)));
    definitions_.push_back(equal(found->second * b, a));
  }
  return found->second;
}

namespace denote {
namespace {

/// A product, if the exponent is a small integer.
Term power(const Term& base, const Term& exponent) {
  const auto times = evaluate(exponent, {});
  if (!times || times->denominator != 1 || times->numerator < 0 || times->numerator > 4)
    return Term::apply("fn.pow", {base, exponent});
  Term result(1);
  for (int64_t i = 0; i < times->numerator; ++i) result = result * base;
  return result;
}

}  // namespace

Symbolic Scalar<Symbolic>::number(const std::string& text, double value) {
  const Rational exact = Scalar<Rational>::number(text, value);
  return Symbolic(Term::number({exact.numerator(), exact.denominator()}));
}

int64_t Scalar<Symbolic>::integer(const Symbolic& x) {
  const auto value = evaluate(x.term(), {});
  if (!value || value->denominator != 1) throw Unsupported("an index that is not a number");
  return value->numerator;
}

Symbolic Scalar<Symbolic>::apply(ir::UnaryFn fn, const Symbolic& x) {
  return Symbolic(Term::apply(std::string("fn.") + ir::name_of(fn), {x.term()}));
}

Symbolic Scalar<Symbolic>::apply(ir::BinaryFn fn, const Symbolic& a, const Symbolic& b) {
  if (fn == ir::BinaryFn::pow) return Symbolic(power(a.term(), b.term()));
  if (takes(fn) != ir::Takes::integers)
    return Symbolic(Term::apply(std::string("fn.") + ir::name_of(fn), {a.term(), b.term()}));
  return Scalar<Rational>::apply(fn, integer(a), integer(b)).numerator();
}

Symbolic Scalar<Symbolic>::truncated(const Symbolic& x) {
  if (const auto value = evaluate(x.term(), {}))
    return Scalar<Rational>::truncated({value->numerator, value->denominator}).numerator();
  return Symbolic(Term::apply("fn.truncated", {x.term()}));
}
Symbolic Scalar<Symbolic>::random(RandomBits&) { throw Unsupported("a random symbolic value"); }
Symbolic Scalar<Symbolic>::draw(ir::RandomFn fn, const Symbolic& key, int64_t index) {
  const char* name = fn == ir::RandomFn::uniform ? "fn.uniform" : "fn.normal";
  return Symbolic(Term::apply(name, {key.term(), Term(index)}));
}
Symbolic Scalar<Symbolic>::fold(const Symbolic& key, const std::string* tag, const Symbolic& n) {
  return Symbolic(Term::apply(tag ? "fn.fold." + *tag : "fn.fold", {key.term(), n.term()}));
}

}  // namespace denote
}  // namespace shardproof
