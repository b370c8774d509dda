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
  if (next_ == decisions_.size()) decisions_.push_back(false);
  const bool answer = decisions_[next_++];
  answers_.push_back(answer ? question : negate(question));
  return answer;
}

/// q with q * b = a, where b is not 0.
Term Path::quotient(const Term& a, const Term& b) {
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

Symbolic Scalar<Symbolic>::number(const std::string& text, double value) {
  const auto whole = static_cast<int64_t>(value);
  if (static_cast<double>(whole) != value) throw Unsupported(text + " is not a whole number");
  return Symbolic(whole);
}

int64_t Scalar<Symbolic>::integer(const Symbolic& x) {
  const auto value = evaluate(x.term(), {});
  if (!value || value->denominator != 1) throw Unsupported("an index that is not a number");
  return value->numerator;
}

Symbolic Scalar<Symbolic>::apply(ir::UnaryFn fn, const Symbolic& x) {
  return Symbolic(Term::apply(std::string("fn.") + ir::name_of(ir::Unary{fn}), {x.term()}));
}

Symbolic Scalar<Symbolic>::apply(ir::BinaryFn fn, const Symbolic& a, const Symbolic& b) {
  if (fn != ir::BinaryFn::pow) throw Unsupported("// and % of symbolic values");
  return Symbolic(Term::apply("fn.pow", {a.term(), b.term()}));
}

Symbolic Scalar<Symbolic>::truncated(const Symbolic& x) {
  return Symbolic(Term::apply("fn.truncated", {x.term()}));
}
Symbolic Scalar<Symbolic>::random(std::mt19937_64&) {
  throw Unsupported("a random symbolic value");
}
Symbolic Scalar<Symbolic>::draw(ir::RandomFn, const Symbolic& key, int64_t index) {
  return Symbolic(Term::apply("fn.draw", {key.term(), Term(index)}));
}
Symbolic Scalar<Symbolic>::fold(const Symbolic& key, const std::string*, const Symbolic& n) {
  return Symbolic(Term::apply("fn.fold", {key.term(), n.term()}));
}

}  // namespace denote
}  // namespace shardproof
