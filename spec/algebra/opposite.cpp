// [e <= 0] and [-e <= 0]: [e <= 0] + [-e <= 0] = 1 + [e = 0], and their product is [e = 0].
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The atom [-e <= 0] for an atom [e <= 0] whose e has no constant; none if it does not exist.
std::optional<AtomId> Engine::opposite(AtomId a) {
  if (atoms[a].kind != AtomKind::le0) return std::nullopt;
  const Nf e = atoms[a].args[0];
  for (const Term& t : terms(e))
    if (factors(t.mono).empty()) return std::nullopt;
  const Nf other = indicator(AtomKind::le0, scale(e, -1));
  if (!is_single(other) || !terms(other)[0].coef.is_one()) return std::nullopt;
  const Mono& m = factors(terms(other)[0].mono);
  if (m.size() != 1 || !m[0].exponent.is_one()) return std::nullopt;
  const Atom& there = atoms[m[0].atom];
  if (there.kind != AtomKind::le0 || there.args[0] != scale(e, -1)) return std::nullopt;
  return m[0].atom;
}

/// [e <= 0] [-e <= 0] = [e = 0].
std::optional<Nf> Engine::meet_opposites(const Mono& m, Rational coef) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::le0 || m[i].exponent.sign() < 0) continue;
    const Nf e = atoms[m[i].atom].args[0];
    for (size_t j = i + 1; j < m.size(); ++j) {
      if (atoms[m[j].atom].kind != AtomKind::le0 || m[j].exponent.sign() < 0) continue;
      if (add(e, atoms[m[j].atom].args[0]) != zero) continue;
      return mul(eq0(e), fix(without(without(m, j), i), coef));
    }
  }
  return std::nullopt;
}

/// 1 + [e = 0], which equals [e <= 0] + [-e <= 0].
Nf Engine::both_ways(AtomId a) {
  return fault == Fault::opposites ? one : add(one, eq0(atoms[a].args[0]));
}

/// Sum_bound m as one atom. At limit 1 keeps [e <= 0]: otherwise twice as many sums would be built.
Nf Engine::lift_sum(const VarSet& bound, const Mono& m) {
  if (m.size() == 1 && bound.size() == 1 && m[0].exponent.is_one())
    if (const auto number = count(bound[0], m[0].atom)) return *number;
  return budget.limit > 1 ? older_sum(bound, m) : lift(Op::sum, bound, monomial(mono(m), 1));
}

/// Among the sums with [e <= 0] and with [-e <= 0], keeps the older one and expresses the other by
/// it; if they are one sum, it is half of both.
Nf Engine::older_sum(const VarSet& bound, const Mono& m) {
  const Nf here = lift(Op::sum, bound, monomial(mono(m), 1));
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::le0 || !m[i].exponent.is_one()) continue;
    if (!mentions_any(atom_vars[m[i].atom], bound)) continue;
    const auto other = opposite(m[i].atom);
    if (!other) continue;
    Mono turned = without(m, i);
    turned.push_back({*other, 1});
    std::sort(turned.begin(), turned.end(),
              [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
    const Nf there = lift(Op::sum, bound, monomial(mono(turned), 1));
    const bool same =
        there == here || fault == Fault::half_sum;  // the sum is symmetric: each half of it is
    if (!same && atoms[only_atom(there)].ref >= atoms[only_atom(here)].ref) continue;
    const Nf rest = mul(both_ways(m[i].atom), fix(without(m, i), 1));
    if (same) return scale(sum(bound, rest), {1, 2});
    return sub(sum(bound, rest), older_sum(bound, turned));
  }
  return here;
}

/// e with another form of its sums of one product.
Nf Engine::with_sums(Nf e, const std::function<Nf(const VarSet&, const Mono&)>& form) {
  Nf result = zero;
  for (const Term& t : terms(e)) {
    Mono kept;
    Nf product = one;
    for (const Factor& f : factors(t.mono)) {
      VarSet binders;
      Nf body = zero;
      if (is_op(f.atom, Op::sum) && f.exponent.is_one())
        body = open(atoms[f.atom].ref, atoms[f.atom].args, free_of(e), &binders);
      if (body != zero && is_single(body) && terms(body)[0].coef.is_one())
        product = mul(product, form(binders, factors(terms(body)[0].mono)));
      else
        kept.push_back(f);
    }
    result = add(result, mul(product, fix(kept, t.coef)));
  }
  return result;
}

/// The terms of e, with each sum in its older form.
Nf Engine::older_sums(Nf e) {
  return with_sums(e, [&](const VarSet& bound, const Mono& m) { return older_sum(bound, m); });
}

/// [e + c <= 0] for a small c as [e <= 0] and the equations between: [v <= w + 1] = [v <= w] + [v =
/// w + 1].
std::optional<Nf> Engine::without_offset(AtomId a) {
  constexpr int64_t most = 4;
  if (atoms[a].kind != AtomKind::le0) return std::nullopt;
  const Nf e = atoms[a].args[0];
  Rational c = 0;
  for (const Term& t : terms(e))
    if (factors(t.mono).empty()) c = t.coef;
  if (c.is_zero() || !c.is_integer() || Rational(most) < c || c < Rational(-most) || !integer(e))
    return std::nullopt;
  const Nf rest = sub(e, number(c));
  Nf result = le0(rest);
  const bool all = fault != Fault::between_offsets;
  for (int64_t j = 0; j < c.num && all; ++j)
    result = sub(result, eq0(add(rest, number(Rational(j)))));
  for (int64_t j = 1; j <= -c.num && all; ++j)
    result = add(result, eq0(sub(rest, number(Rational(j)))));
  return result;
}

/// e with its sums up to w + c as sums up to w, and the terms between.
Nf Engine::sums_to_index(Nf e) {
  return with_sums(e, [&](const VarSet& bound, const Mono& m) {
    const Nf body = monomial(mono(m), 1),
             other = with_factors(body, [&](const Factor&f) {
               const bool inside = f.exponent.is_one() && mentions_any(atom_vars[f.atom], bound);
               return inside ? without_offset(f.atom) : std::nullopt;
             });
    return other != body ? sum(bound, other) : lift_sum(bound, m);
  });
}

/// Replaces [-e <= 0] by [e <= 0] where the term contains both.
Nf Engine::unite_opposites(Nf e) {
  std::vector<std::pair<AtomId, AtomId>> turned;
  std::vector<AtomId> seen;  // comparisons
  for (const Term& t : terms(e))
    for (const Factor& f : factors(t.mono)) {
      if (atoms[f.atom].kind != AtomKind::le0) continue;
      if (std::find(seen.begin(), seen.end(), f.atom) != seen.end()) continue;
      const auto other = opposite(f.atom);
      if (other && std::find(seen.begin(), seen.end(), *other) != seen.end())
        turned.push_back({f.atom, *other});
      seen.push_back(f.atom);
    }
  if (turned.empty()) return e;
  Nf result = zero;
  for (const Term& t : terms(e)) {
    Mono kept;
    Nf product = one;
    for (const Factor& f : factors(t.mono)) {
      const auto hit = std::find_if(turned.begin(), turned.end(),
                                    [&](const auto& pair) { return pair.first == f.atom; });
      if (hit == turned.end() || !f.exponent.is_one())
        kept.push_back(f);
      else
        product = mul(product, sub(both_ways(f.atom), of_atom(hit->second)));
    }
    result = add(result, mul(product, fix(kept, t.coef)));
  }
  return result;
}

/// [a <= 0] [b <= 0] = [a <= 0] + [b <= 0] - 1, if one of them always holds: for integers a + b <=
/// 1 is enough.
Nf Engine::unite_covers(Nf e) {
  const auto cover = [&](AtomId x, AtomId y) {
    if (atoms[x].kind != AtomKind::le0 || atoms[y].kind != AtomKind::le0) return false;
    const Nf a = atoms[x].args[0], b = atoms[y].args[0];
    if (!integer(a) || !integer(b)) return false;
    return fault == Fault::covers || at_least(sub(one, add(a, b)), 0);
  };
  Nf result = zero;
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    std::optional<std::pair<size_t, size_t>> pair;
    for (size_t i = 0; i < m.size(); ++i)
      for (size_t j = 0; j < i && !pair; ++j)
        if (m[i].exponent.is_one() && m[j].exponent.is_one() && cover(m[i].atom, m[j].atom))
          pair = {i, j};
    if (!pair) {
      result = add(result, monomial(t.mono, t.coef));
      continue;
    }
    const auto [i, j] = *pair;
    const Nf either = sub(add(of_atom(m[i].atom), of_atom(m[j].atom)), one);
    result = add(result, unite_covers(mul(either, fix(without(without(m, i), j), t.coef))));
  }
  return result;
}

}  // namespace shardproof::algebra
