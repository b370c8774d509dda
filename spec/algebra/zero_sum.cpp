// [S = 0] T = 0 for a sum S of values >= 0: each of them is 0 where S is. T has one of them as a
// factor, or is a sum of such terms: a masked sum where the mask holds nowhere.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// Whether each term of e has the factor.
bool all_have(const Engine& g, Nf e, AtomId factor) {
  return std::all_of(g.terms(e).begin(), g.terms(e).end(), [&](const Term& t) {
    const Mono& m = g.factors(t.mono);
    return std::any_of(m.begin(), m.end(),
                       [&](const Factor& f) { return f.atom == factor && f.exponent.sign() > 0; });
  });
}

}  // namespace

/// What is summed up, if it is a power of one atom that is >= 0, and the indices of the sum.
std::optional<Engine::Summand> Engine::summand(AtomId sum, const VarSet& avoid) {
  constexpr size_t most_indices = 3;
  if (!is_op(sum, Op::sum)) return std::nullopt;
  Summand found;
  const Nf body = open(atoms[sum].ref, atoms[sum].args, avoid, &found.over);
  std::sort(found.over.begin(), found.over.end());
  if (found.over.size() > most_indices || !is_single(body)) return std::nullopt;
  const Term t = terms(body)[0];
  const Mono& m = factors(t.mono);
  if (m.size() != 1 || m[0].exponent.sign() < 0 || t.coef.sign() < 0) return std::nullopt;
  if (!nonnegative_atom(m[0].atom, m[0].exponent) && fault != Fault::zero_sum) return std::nullopt;
  found.value = m[0].atom;
  return found;
}

/// Whether some entry of the summand, at indices of its sum, is a factor of all terms of `body`.
bool Engine::entry_in_all(const Summand& of, Nf body, Map& at) {
  if (at.size() == of.over.size()) {
    const auto entry = single_atom(substitute(of_atom(of.value), at));
    return entry && all_have(*this, body, *entry);
  }
  const VarId next = of.over[at.size()];
  const VarSet& indices = free_of(body);
  return std::any_of(indices.begin(), indices.end(), [&](VarId v) {
    if (vars[v].range != vars[next].range) return false;
    at.push_back({next, var(v)});
    const bool found = entry_in_all(of, body, at);
    at.pop_back();
    return found;
  });
}

/// Whether the atom is the summand at indices that its sum has.
bool Engine::is_entry(const Summand& of, AtomId atom) {
  const Atom &value = atoms[of.value], &other = atoms[atom];
  if (value.kind != AtomKind::app || other.kind != value.kind || other.ref != value.ref)
    return false;
  Map at;
  for (VarId v : of.over) {
    size_t i = 0;
    while (i < value.args.size() && value.args[i] != var(v)) ++i;
    if (i == value.args.size()) return false;
    const Nf index = other.args[i], after = sub(sub(vars[v].range, one), index);
    if (!at_least(index, 0) || !at_least(after, 0)) return false;
    at.push_back({v, index});
  }
  return single_atom(substitute(of_atom(of.value), at)) == atom;
}

/// Whether one of the terms, all >= 0, is > 0: c [u = 0] where u is 0, else a multiple of u.
bool Engine::positive_at_zero_too(const Poly& p) const {
  for (const Term& t : p) {
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || atoms[m[0].atom].kind != AtomKind::eq0) continue;
    const Nf u = atoms[m[0].atom].args[0];
    for (const Term& s : p)
      if (s.mono != t.mono && is_single(u) &&
          (s.mono == terms(u)[0].mono || fault == Fault::zero_or_positive))
        return true;
  }
  return false;
}

/// Whether `other` is 0 where the sum is.
bool Engine::zero_with(AtomId sum, AtomId other) {
  if (sum == other) return true;
  if (!is_op(sum, Op::sum) || atoms[other].kind != AtomKind::app) return false;
  const uint64_t key = static_cast<uint64_t>(sum) << 32 | other;
  if (const auto known = zero_cache.find(key); known != zero_cache.end()) return known->second;
  VarSet outside = set_union(atom_vars[sum], atom_vars[other]), binders;
  Nf body = of_atom(other);
  if (is_op(other, Op::sum)) body = open(atoms[other].ref, atoms[other].args, outside, &binders);
  const auto of = summand(sum, set_union(outside, binders));
  Map at;
  return zero_cache[key] =
             of && (is_op(other, Op::sum) ? entry_in_all(*of, body, at) : is_entry(*of, other));
}

}  // namespace shardproof::algebra
