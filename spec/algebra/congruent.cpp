// F(u) - F(v) vanishes if u - v does: for functions, maxima, and operators on whole tensors such as
// loops, whose bodies are compared at every index.
#include "spec/algebra/congruent.h"

#include <algorithm>

namespace shardproof::algebra {

namespace {

constexpr size_t longest_difference = 40;
constexpr size_t most_compared = 12;

/// The atoms that stand for an operator or a function of a term.
std::vector<AtomId> applications(Engine& g, Nf e) {
  std::vector<AtomId> found;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono)) {
      const TensorInfo* tensor = g.derived(f.atom);
      if (!tensor || tensor->op == Op::leaf || tensor->op == Op::iota || tensor->op == Op::sum)
        continue;
      if (std::find(found.begin(), found.end(), f.atom) == found.end()) found.push_back(f.atom);
    }
  return found;
}

/// The terms of which two derived tensors of one op and one list of binders are made: none if they
/// bind other ranges.
std::optional<Nf> terms_apart(Engine& g, const Atom& a, const Atom& b) {
  const TensorInfo &x = g.tensors[a.ref], &y = g.tensors[b.ref];
  if (x.op != y.op || x.binders != y.binders) return std::nullopt;
  VarSet avoid;
  for (const Atom* atom : {&a, &b})
    for (Nf arg : atom->args) avoid = set_union(avoid, g.free_of(arg));
  VarSet binders, same;
  const Nf u = g.open(a.ref, a.args, avoid, &binders), v = g.open(b.ref, b.args, avoid, &same);
  if (binders != same) return std::nullopt;
  return g.sub(u, v);
}

class Congruence {
 public:
  Congruence(Engine& g, const Vanishes& vanishes) : g_(g), vanishes_(vanishes) {}

  bool equal(AtomId x, AtomId y) {
    if (x == y) return true;
    const Atom &a = g_.atoms[x], &b = g_.atoms[y];
    if (a.kind != AtomKind::app || b.kind != AtomKind::app) return false;
    if (g_.tensors[a.ref].op != Op::symbol) {
      const auto difference = terms_apart(g_, a, b);
      return difference && gone(*difference);
    }
    if (a.ref != b.ref || a.args.size() != b.args.size()) return false;
    for (size_t i = 0; i < a.args.size(); ++i)
      if (a.args[i] != b.args[i] && !same_tensor(a.args[i], b.args[i])) return false;
    return true;
  }

 private:
  bool same_tensor(Nf x, Nf y) {
    const auto a = g_.single_atom(x), b = g_.single_atom(y);
    if (!a || !b || !g_.is_op(*a, Op::lambda) || !g_.is_op(*b, Op::lambda)) return false;
    const auto difference = terms_apart(g_, g_.atoms[*a], g_.atoms[*b]);
    return difference && gone(*difference);
  }
  bool gone(Nf e) {
    return e == g_.zero || g_.fault == Fault::congruence ||
           (g_.terms(e).size() <= longest_difference && vanishes_(e));
  }

  Engine& g_;
  const Vanishes& vanishes_;
};

Nf with_one_atom(Engine& g, Nf e, AtomId atom, AtomId other) {
  Nf result = g.zero;
  for (const Term& t : g.terms(e)) {
    Mono m = g.factors(t.mono);
    const auto at =
        std::find_if(m.begin(), m.end(), [&](const Factor& f) { return f.atom == atom; });
    if (at == m.end()) {
      result = g.add(result, g.monomial(t.mono, t.coef));
      continue;
    }
    const Nf power = g.atom_power(other, at->exponent);
    result =
        g.add(result, g.mul(power, g.fix(without(m, static_cast<size_t>(at - m.begin())), t.coef)));
  }
  return result;
}

}  // namespace

Nf with_congruent(Engine& g, Nf e, const Vanishes& vanishes) {
  if (g.terms(e).size() > longest_difference) return e;
  const std::vector<AtomId> atoms = applications(g, e);
  if (atoms.size() > most_compared) return e;
  Congruence found(g, vanishes);
  for (size_t i = 0; i < atoms.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (found.equal(atoms[k], atoms[i])) {
        e = with_one_atom(g, e, atoms[i], atoms[k]);
        break;
      }
  return e;
}

}  // namespace shardproof::algebra
