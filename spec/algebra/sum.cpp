// Bound sums: linear in monomials. Flattens, applies deltas, merges digits, unrolls, cancels; then
// one sum atom per connected component.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

Nf Engine::sum(VarSet bound, Nf body) {
  std::sort(bound.begin(), bound.end());
  if (body == zero) return zero;
  if (bound.empty()) return body;
  Key key(bound.begin(), bound.end());
  key.push_back(body.id);
  if (auto it = sum_cache.find(key); it != sum_cache.end()) return it->second;
  tick(4);
  bool split = false;
  Nf result = sum_thresholds(bound, body, &split);
  if (!split) result = sum_telescoping(bound, body, &split);
  if (!split) {
    result =
        sum_of_terms(body, [&](const Term& t) { return sum_term(bound, factors(t.mono), t.coef); });
  }
  note_bound_sum(body, result);
  sum_cache.emplace(std::move(key), result);
  return result;
}

Nf Engine::sum_term(VarSet bound, Mono m, Rational coef) {
  tick(static_cast<long>(m.size()));
  const VarSet& free = mono_vars[mono(m)];
  Nf outside = one;
  VarSet used;
  for (VarId v : bound) {
    if (contains(free, v))
      used.push_back(v);
    else if (fault != Fault::unused_range)
      outside = mul(outside, vars[v].range);
  }
  bound = used;
  if (bound.empty()) return mul(outside, monomial(mono(m), coef));
  Nf body;
  if (flatten(bound, m, &body)) return mul(outside, sum(bound, scale(body, coef)));
  if (auto r = delta(bound, m, coef, true)) return mul(outside, *r);
  if (auto r = at_place(bound, m, coef)) return mul(outside, *r);
  if (auto r = delta_of_block(bound, m, coef)) return mul(outside, *r);
  if (auto r = apply_injective(bound, m, coef)) return mul(outside, *r);
  body = monomial(mono(m), coef);
  if (merge_digits(bound, body)) return mul(outside, sum(bound, body));
  if (auto r = delta(bound, m, coef, false)) return mul(outside, *r);
  for (VarId v : bound) {
    auto n = as_number(vars[v].range);
    if (!n || Rational(8) < *n) continue;
    Nf total = zero;
    for (int64_t i = 0; i < n->num; ++i)
      total = add(total, sum(set_minus(bound, {v}), substitute(body, {{v, number(i)}})));
    return mul(outside, total);
  }
  if (auto r = gather(bound, m, coef)) return mul(outside, *r);
  if (auto r = cancel(bound, m, coef)) return mul(outside, *r);
  if (auto r = in_any_order(bound, m, coef)) return mul(outside, *r);
  return mul(outside, sum_components(bound, m, coef));
}

/// Opens a sum atom that depends on a bound variable, one copy at a time: the result is one sum
/// over all indices.
bool Engine::flatten(VarSet& bound, Mono& m, Nf* opened) {
  for (size_t i = 0; i < m.size(); ++i) {
    const Factor f = m[i];
    if (!is_op(f.atom, Op::sum) || !f.exponent.is_integer() || f.exponent.sign() < 0) continue;
    if (!mentions_any(atom_vars[f.atom], bound)) continue;
    VarSet binders;
    VarSet avoid = set_union(mono_vars[mono(m)], bound);
    Nf body = open(atoms[f.atom].ref, atoms[f.atom].args, avoid, &binders);
    Mono rest = without(m, i);
    if (!f.exponent.is_one()) rest.push_back({f.atom, f.exponent - Rational(1)});
    bound.insert(bound.end(), binders.begin(), binders.end());
    *opened = mul(fix(rest, 1), body);
    return true;
  }
  return false;
}

/// Sums out a variable if this gives the inverse of another factor: sum_k p[k] / sum_k p[k] =
/// 1.
std::optional<Nf> Engine::cancel(const VarSet& bound, const Mono& m, Rational coef) {
  bool divided = false;
  for (const Factor& f : m) divided = divided || (is_op(f.atom, Op::sum) && f.exponent.sign() < 0);
  if (!divided || bound.size() < 2) return std::nullopt;
  for (VarId k : bound) {
    Mono with, rest;
    for (const Factor& f : m) (contains(atom_vars[f.atom], k) ? with : rest).push_back(f);
    if (rest.empty() || !may_cancel(k, with, rest)) continue;
    Nf s = sum({k}, monomial(mono(with), 1));
    if (!is_single(s)) continue;
    bool cancels = false;
    for (const Factor& f : factors(terms(s)[0].mono))
      for (const Factor& h : rest)
        cancels = cancels || (f.atom == h.atom && is_op(f.atom, Op::sum) && h.exponent.sign() < 0);
    if (cancels) return sum(set_minus(bound, {k}), mul(s, monomial(mono(rest), coef)));
  }
  return std::nullopt;
}

/// A cheap test whether one of `rest` can be the inverse of the sum of `with` over k: a sum over
/// k's range with the same variables and number of factors.
bool Engine::may_cancel(VarId k, const Mono& with, const Mono& rest) const {
  VarSet free;
  bool opens = false;
  for (const Factor& f : with) {
    free = set_union(free, atom_vars[f.atom]);
    opens = opens || is_op(f.atom, Op::poly);
  }
  return std::any_of(rest.begin(), rest.end(), [&](const Factor& h) {
    if (h.exponent.sign() >= 0 || !is_op(h.atom, Op::sum)) return false;
    const TensorInfo& sum = tensors[atoms[h.atom].ref];
    if (std::count(sum.binders.begin(), sum.binders.end(), vars[k].range) == 0) return false;
    for (VarId v : atom_vars[h.atom])
      if (!contains(free, v)) return false;
    const Nf body(sum.body);
    return opens || !is_single(body) || factors(terms(body)[0].mono).size() == with.size();
  });
}

/// Moves out factors without bound variables; sums each connected component separately.
Nf Engine::sum_components(const VarSet& bound, const Mono& m, Rational coef) {
  std::vector<Mono> parts;
  std::vector<VarSet> labels;
  Mono outside;
  for (const Factor& f : m) {
    VarSet here;
    for (VarId v : atom_vars[f.atom])
      if (contains(bound, v)) here.push_back(v);
    if (here.empty()) {
      outside.push_back(f);
      continue;
    }
    Mono part = {f};
    for (size_t i = parts.size(); i-- > 0;) {
      if (!mentions_any(labels[i], here)) continue;
      part.insert(part.end(), parts[i].begin(), parts[i].end());
      here = set_union(here, labels[i]);
      parts.erase(parts.begin() + static_cast<long>(i));
      labels.erase(labels.begin() + static_cast<long>(i));
    }
    parts.push_back(part), labels.push_back(here);
  }
  Nf result = fix(outside, coef);
  for (size_t i = 0; i < parts.size(); ++i) {
    std::sort(parts[i].begin(), parts[i].end(),
              [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
    const bool one_factor = parts[i].size() == 1;
    std::optional<Nf> known;
    if (one_factor && labels[i].size() == 1) known = sum_of_indices(labels[i][0], parts[i][0]);
    // The terms of (x + y) z are kept together, and z has left the sum: the sum of x and that of y.
    if (one_factor && parts[i][0].exponent.is_one() && is_op(parts[i][0].atom, Op::poly))
      known = sum(labels[i], inner(parts[i][0].atom));
    for (VarId v : labels[i])
      if (!known) known = count_between(labels[i], v, parts[i]);
    if (!known) known = sum_in_a_circle(labels[i], parts[i]);
    result = mul(result, known ? *known : sum_either_way(labels[i], parts[i]));
  }
  return result;
}

}  // namespace shardproof::algebra
