// Sums cut by a threshold: each piece of a concatenation is summed over its own range. The two
// sides of a threshold of a free index.
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

/// A cut of v; for a bound v it must lie in its range. The part of a free v above a cut that is
/// beyond the range is empty, and nothing is claimed of it.
std::optional<Threshold> threshold(Engine& g, AtomId a, const VarSet& bound, bool free = false) {
  const AtomKind kind = g.atoms[a].kind;
  if ((kind != AtomKind::le0 && kind != AtomKind::eq0) || g.atom_vars[a].size() != 1)
    return std::nullopt;
  VarId v = g.atom_vars[a][0];
  if (!contains(bound, v)) return std::nullopt;
  Nf e = g.atoms[a].args[0], i = g.var(v), plus = g.add(e, i), minus = g.sub(e, i);
  if (kind == AtomKind::eq0)  // [v = 0] is [v < 1]
    return free && (e == i || e == g.scale(i, -1)) ? std::optional(Threshold{v, a, g.one, false})
                                                   : std::nullopt;
  bool high = !g.mentions(plus, v), low = !g.mentions(minus, v);
  if (!high && !low) return std::nullopt;
  Nf cut = high ? plus : g.sub(g.one, minus);  // cut - v <= 0, or v - cut + 1 <= 0
  if (!g.integer(cut) || !g.free_of(cut).empty()) return std::nullopt;
  if (g.fault == Fault::threshold_range) return Threshold{v, a, cut, high};
  if (!g.at_least(cut, 1)) return std::nullopt;
  if (!free && !g.at_least(g.sub(g.vars[v].range, cut), 0)) return std::nullopt;
  return Threshold{v, a, cut, high};
}

/// The first in e of a free variable, or a smaller one of the same variable: below a cut the
/// variable is no longer known to be less than its range.
std::optional<Threshold> threshold_of_free(Engine& g, Nf e) {
  const VarSet& free = g.free_of(e);
  std::optional<Threshold> least;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono))
      if (const auto found = threshold(g, f.atom, free, true))
        if (!least || (found->v == least->v && g.at_least(g.sub(least->cut, found->cut), 1)))
          least = found;
  return least;
}

/// e where v < K.
Nf below_cut(Engine& g, Nf e, const Threshold& at) {
  return g.substitute(e, {{at.v, g.var(g.scratch(at.cut, g.free_of(e)))}});
}

/// e where v >= K; for no v where K is the range.
Nf above_cut(Engine& g, Nf e, const Threshold& at) {
  const VarId above = g.scratch(g.sub(g.vars[at.v].range, at.cut), g.free_of(e));
  return g.substitute(e, {{at.v, g.add(g.var(above), at.cut)}});
}

}  // namespace

/// The sum over v of [v >= K] b(v) runs over range - K values, if there are any, and else is what
/// the first K leave of the whole sum; that of (1 - [v >= K]) a(v) runs over K values.
Nf Engine::sum_thresholds(const VarSet& bound, Nf body, bool* done) {
  std::optional<Threshold> found;
  for (const Term& t : terms(body))
    for (const Factor& f : factors(t.mono))
      if (!found && f.exponent.is_one()) found = threshold(*this, f.atom, bound);
  if (!found) return zero;
  *done = true;
  Nf with = zero, plain = zero;
  for (const Term& t : terms(body)) {
    Mono m = factors(t.mono);
    size_t i = 0;
    while (i < m.size() && !(m[i].atom == found->atom && m[i].exponent.is_one())) ++i;
    if (i < m.size())
      with = add(with, monomial(mono(without(m, i)), t.coef));
    else
      plain = add(plain, monomial(t.mono, t.coef));
  }
  Nf off = zero;  // the sum of the terms a that have the factor (1 - [..])
  for (const Term& t : terms(plain))
    for (const Term& u : terms(with))
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

/// e as [v < K] rest for a free variable v, if e is zero where v >= K.
std::optional<Engine::Below> Engine::only_below_threshold(Nf e) {
  const auto found = threshold_of_free(*this, e);
  if (!found) return std::nullopt;
  if (fault != Fault::below_threshold && above_cut(*this, e, *found) != zero) return std::nullopt;
  const Nf is = of_atom(found->atom);
  return Below{found->high ? sub(one, is) : is, with_atom(e, found->atom, !found->high)};
}

/// e with `value` for an indicator that is a factor of its terms.
Nf Engine::with_atom(Nf e, AtomId indicator, bool value) {
  Nf result = zero;
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    size_t i = 0;
    while (i < m.size() && m[i].atom != indicator) ++i;
    if (i == m.size())
      result = add(result, monomial(t.mono, t.coef));
    else if (value)
      result = add(result, monomial(mono(without(m, i)), t.coef));
  }
  return result;
}

/// e where v < K and where v >= K, for the first K that a free variable v of e is compared with.
std::optional<std::pair<Nf, Nf>> Engine::sides_of_threshold(Nf e) {
  const auto found = threshold_of_free(*this, e);
  if (!found) return std::nullopt;
  return std::pair{below_cut(*this, e, *found), above_cut(*this, e, *found)};
}

}  // namespace shardproof::algebra
