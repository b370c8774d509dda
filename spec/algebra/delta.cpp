// Sums against indicators: substitution of v for [v = T], injective maps, gathers, and ranges cut by a threshold.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// T with  e = 0 <=> v = T, if v occurs once in e, alone and with a constant coefficient.
std::optional<Nf> solve(Engine& g, Nf e, VarId v) {
  Nf rest = g.zero;
  Rational slope = 0;
  for (const Term& t : Poly(g.terms(e))) {
    if (!contains(g.mono_vars[t.mono], v)) {
      rest = g.add(rest, g.monomial(t.mono, t.coef));
      continue;
    }
    const Mono& m = g.factors(t.mono);
    if (m.size() != 1 || g.atoms[m[0].atom].kind != AtomKind::var || !m[0].exponent.is_one())
      return std::nullopt;
    slope = t.coef;
  }
  if (slope.is_zero()) return std::nullopt;
  Nf solution = g.scale(rest, Rational(-1) / slope);
  if (!g.integer(solution)) return std::nullopt;
  return solution;
}

}  // namespace

/// Sum_v [v = T] f(v) = [0 <= T < range] f(T); with `in_range` only where the indicator is provably 1.
std::optional<Nf> Engine::delta(const VarSet& bound, const Mono& m, Rational coef, bool in_range) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::eq0 || !m[i].exponent.is_one()) continue;
    Nf e = atoms[m[i].atom].args[0];
    for (VarId v : bound) {
      if (!mentions(e, v)) continue;
      auto at = solve(*this, e, v);
      if (!at) continue;
      Nf inside = one;
      if (fault != Fault::always_in_range) {
        Nf above = add(sub(*at, vars[v].range), one);
        if (in_range && !(at_least(*at, 0) && at_least(scale(above, -1), 0))) continue;
        if (!in_range) inside = mul(le0(scale(*at, -1)), le0(above));
      }
      Nf rest = substitute(fix(without(m, i), coef), {{v, *at}});
      return sum(set_minus(bound, {v}), mul(inside, rest));
    }
  }
  return std::nullopt;
}

/// [v = ids[b]] f(v) = [v = ids[b]] f(ids[b]) for a free variable v, if it is the only such indicator.
std::optional<Nf> Engine::gather(const VarSet& bound, const Mono& m, Rational coef) {
  std::optional<std::pair<size_t, std::pair<VarId, Nf>>> found;
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::eq0 || !m[i].exponent.is_one()) continue;
    Nf e = atoms[m[i].atom].args[0];
    for (VarId v : atom_vars[m[i].atom]) {
      if (contains(bound, v)) continue;
      auto at = solve(*this, e, v);
      if (!at || !is_single(*at)) continue;
      const Mono& f = factors(terms(*at)[0].mono);
      if (f.size() != 1 || !derived(f[0].atom) || mentions(*at, v)) continue;
      if (found) return std::nullopt;
      found = {i, {v, *at}};
    }
  }
  if (!found) return std::nullopt;
  auto [i, image] = *found;
  Mono rest = without(m, i);
  Nf before = fix(rest, coef), after = substitute(before, {image});
  if (before == after) return std::nullopt;
  return sum(bound, mul(monomial(mono({m[i]}), 1), after));
}

namespace {

struct Equation {
  std::vector<Nf> args;  // T[args] = value
  Nf value;
};

/// The indicators [T[args] = value] in m, both ways round.
std::vector<Equation> equations(Engine& g, TensorId t, const Mono& m) {
  std::vector<Equation> out;
  for (const Factor& f : m) {
    if (g.atoms[f.atom].kind != AtomKind::eq0 || !f.exponent.is_one()) continue;
    Nf e = g.atoms[f.atom].args[0];
    for (const Term& term : Poly(g.terms(e))) {
      const Mono& x = g.factors(term.mono);
      if (x.size() != 1 || !x[0].exponent.is_one() || g.atoms[x[0].atom].kind != AtomKind::app) continue;
      if (g.atoms[x[0].atom].ref != t) continue;
      Nf self = g.monomial(term.mono, 1);
      out.push_back({g.atoms[x[0].atom].args, g.sub(self, g.scale(e, Rational(1) / term.coef))});
    }
  }
  return out;
}

bool agree(Engine& g, TensorId t, const Mono& m, const std::vector<Nf>& a, const std::vector<Nf>& b) {
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

/// Declared: if all tensors of a set agree at a and b then a = b.
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

namespace {

/// [v >= cut] (high) or [v < cut] as a le0 atom with a cut made of sizes.
struct Threshold {
  VarId v = 0;
  AtomId atom = 0;
  Nf cut;
  bool high = false;
};

std::optional<Threshold> threshold(Engine& g, AtomId a, const VarSet& bound) {
  if (g.atoms[a].kind != AtomKind::le0 || g.atom_vars[a].size() != 1) return std::nullopt;
  VarId v = g.atom_vars[a][0];
  if (!contains(bound, v)) return std::nullopt;
  Nf e = g.atoms[a].args[0], i = g.var(v), plus = g.add(e, i), minus = g.sub(e, i);
  bool high = !g.mentions(plus, v), low = !g.mentions(minus, v);
  if (!high && !low) return std::nullopt;
  Nf cut = high ? plus : g.sub(g.one, minus);  // cut - v <= 0, or v - cut + 1 <= 0
  if (!g.integer(cut) || !g.free_of(cut).empty()) return std::nullopt;
  if (g.fault == Fault::threshold_range) return Threshold{v, a, cut, high};
  if (!g.at_least(cut, 1) || !g.at_least(g.sub(g.vars[v].range, cut), 1)) return std::nullopt;
  return Threshold{v, a, cut, high};
}

}  // namespace

/// Sum_v of [v >= K] b(v) runs over range - K, of (1 - [v >= K]) a(v) over K.
Nf Engine::sum_thresholds(const VarSet& bound, Nf body, bool* done) {
  std::optional<Threshold> found;
  for (const Term& t : Poly(terms(body)))
    for (const Factor& f : Mono(factors(t.mono)))
      if (!found && f.exponent.is_one()) found = threshold(*this, f.atom, bound);
  if (!found) return zero;
  *done = true;
  Nf with = zero, plain = zero;
  for (const Term& t : Poly(terms(body))) {
    Mono m = factors(t.mono);
    size_t i = 0;
    while (i < m.size() && !(m[i].atom == found->atom && m[i].exponent.is_one())) ++i;
    if (i < m.size()) with = add(with, monomial(mono(without(m, i)), t.coef));
    else plain = add(plain, monomial(t.mono, t.coef));
  }
  Nf off = zero;  // the summands a with a (1 - [..])
  for (const Term& t : Poly(terms(plain)))
    for (const Term& u : Poly(terms(with)))
      if (t.mono == u.mono && t.coef == -u.coef) off = add(off, monomial(t.mono, t.coef));
  plain = sub(plain, off), with = add(with, off);
  const VarSet avoid = set_union(free_of(body), bound), others = set_minus(bound, {found->v});
  auto part = [&](Nf f, bool high) {
    if (f == zero) return zero;
    Nf length = high ? sub(vars[found->v].range, found->cut) : found->cut;
    VarId u = scratch(length, avoid);
    Nf at = high ? add(var(u), found->cut) : var(u);
    VarSet inside = set_union(others, {u});
    return sum(inside, substitute(f, {{found->v, at}}));
  };
  return add(sum(bound, plain), add(part(with, found->high), part(off, !found->high)));
}

}  // namespace shardproof::algebra
