// Sums cut by a threshold: each piece of a concatenation is summed over its own range.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// [v >= cut] (high) or [v < cut], as a le0 atom; cut depends on sizes only.
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
  if (!g.at_least(cut, 1) || !g.at_least(g.sub(g.vars[v].range, cut), 0)) return std::nullopt;
  return Threshold{v, a, cut, high};
}

}  // namespace

/// The sum over v of [v >= K] b(v) runs over range - K values, if there are any, and else is what
/// the first K leave of the whole sum; that of (1 - [v >= K]) a(v) runs over K values.
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
    if (i < m.size())
      with = add(with, monomial(mono(without(m, i)), t.coef));
    else
      plain = add(plain, monomial(t.mono, t.coef));
  }
  Nf off = zero;  // the sum of the terms a that have the factor (1 - [..])
  for (const Term& t : Poly(terms(plain)))
    for (const Term& u : Poly(terms(with)))
      if (t.mono == u.mono && t.coef == -u.coef) off = add(off, monomial(t.mono, t.coef));
  plain = sub(plain, off), with = add(with, off);
  const VarSet avoid = set_union(free_of(body), bound), others = set_minus(bound, {found->v});
  // A variable has a range of at least 1, and the part above the cut may be empty.
  const Nf above = sub(vars[found->v].range, found->cut);
  const bool some_above = fault == Fault::threshold_range || at_least(above, 1);
  auto piece = [&](Nf f, bool high) {
    VarId u = scratch(high ? above : found->cut, avoid);
    Nf at = high ? add(var(u), found->cut) : var(u);
    VarSet inside = set_union(others, {u});
    return sum(inside, substitute(f, {{found->v, at}}));
  };
  auto part = [&](Nf f, bool high) {
    if (f == zero) return zero;
    if (high && !some_above) return sub(sum(bound, f), piece(f, false));
    return piece(f, high);
  };
  return add(sum(bound, plain), add(part(with, found->high), part(off, !found->high)));
}

}  // namespace shardproof::algebra
