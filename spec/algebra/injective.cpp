// Declared injectivity: if all tensors of a set agree at a and b, then a = b (one slot holds one
// token).
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

struct Equation {
  std::vector<Nf> args;  // T[args] = value
  Nf value;
};

/// The indicators [T[args] = value] in m, in both directions.
std::vector<Equation> equations(Engine& g, TensorId t, const Mono& m) {
  std::vector<Equation> out;
  for (const Factor& f : m) {
    if (g.atoms[f.atom].kind != AtomKind::eq0 || !f.exponent.is_one()) continue;
    Nf e = g.atoms[f.atom].args[0];
    for (const Term& term : g.terms(e)) {
      const Mono& x = g.factors(term.mono);
      if (x.size() != 1 || !x[0].exponent.is_one() || g.atoms[x[0].atom].kind != AtomKind::app)
        continue;
      if (g.atoms[x[0].atom].ref != t) continue;
      Nf self = g.monomial(term.mono, 1);
      out.push_back({g.atoms[x[0].atom].args, g.sub(self, g.scale(e, Rational(1) / term.coef))});
    }
  }
  return out;
}

bool agree(Engine& g, TensorId t, const Mono& m, const std::vector<Nf>& a,
           const std::vector<Nf>& b) {
  Nf other = g.of_atom(g.atom({AtomKind::app, t, b}));
  auto all = equations(g, t, m);
  for (const Equation& x : all) {
    if (x.args != a) continue;
    if (x.value == other) return true;
    for (const Equation& y : all)
      if (y.args == b && y.value == x.value) return true;
  }
  return false;
}

}  // namespace

/// Applies declared injectivity: if all tensors of a set agree at a and b, then a = b.
std::optional<Nf> Engine::apply_injective(const VarSet& bound, const Mono& m, Rational coef) {
  for (const auto& set : injective) {
    auto known = equations(*this, set[0], m);
    for (const Equation& x : known)
      for (const Equation& y : known) {
        std::vector<Nf> b = y.args;
        if (x.value != y.value) continue;
        if (x.args == b) {  // [i(a) = i(b)] gives value i(b) for a
          if (!is_single(x.value)) continue;
          const Mono& v = factors(terms(x.value)[0].mono);
          if (v.size() != 1 || !derived(v[0].atom) || atoms[v[0].atom].ref != set[0]) continue;
          b = atoms[v[0].atom].args;
          if (x.args == b) continue;
        }
        bool all = true;
        for (TensorId t : set) all = all && agree(*this, t, m, x.args, b);
        if (!all) continue;
        Nf same = one;
        for (size_t i = 0; i < b.size(); ++i) same = mul(same, eq0(sub(x.args[i], b[i])));
        Nf before = monomial(mono(m), coef), after = mul(before, same);
        if (after != before) return sum(bound, after);
      }
  }
  return std::nullopt;
}

}  // namespace shardproof::algebra
