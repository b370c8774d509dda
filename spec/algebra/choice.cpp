// Values that a condition chooses: [max(a, b) > 0] is [a > 0] or [b > 0], |where(c, a, b)| is
// where(c, |a|, |b|), and where(a > b, |a - b|, 0) is where(a > b, a - b, 0).
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

constexpr size_t most_terms = 16;
constexpr size_t most_conditions = 4;

/// The conditions that are factors of terms of u.
std::vector<AtomId> conditions_of(const Engine& g, Nf u) {
  std::vector<AtomId> found;
  if (g.terms(u).size() > most_terms) return found;
  for (const Term& t : g.terms(u))
    for (const Factor& f : g.factors(t.mono))
      if (f.exponent.is_one() && g.is_indicator(f.atom) &&
          std::find(found.begin(), found.end(), f.atom) == found.end())
        found.push_back(f.atom);
  return found;
}

}  // namespace

/// [u > 0] for a u that is the greater or smaller of two values, or that has a known sign in one of
/// the two cases of a condition.
std::optional<Nf> Engine::step_of_choice(Nf u) {
  const std::vector<AtomId> conditions = conditions_of(*this, u);
  if (conditions.size() > most_conditions) return std::nullopt;
  for (const AtomId c : conditions) {
    const Nf on = with_atom(u, c, true), off = with_atom(u, c, false);
    if (is_op(c, Op::step)) {
      bool flipped = false;
      const bool chosen = single_atom(step_atom(sub(on, off), &flipped)) == c;
      if (chosen || fault == Fault::chosen_by_any) {
        const Nf a = step(on), b = step(off), both = mul(a, b);
        return flipped ? both : sub(add(a, b), both);
      }
    }
    const Nf holds = of_atom(c), there = step(on), elsewhere = step(off);
    if (!as_number(there) && !as_number(elsewhere)) continue;
    return add(mul(holds, there), mul(sub(one, holds), elsewhere));
  }
  return std::nullopt;
}

/// max(u, 0) for a u that has a known sign in one of the two cases of a condition: a clip of a clip
/// compares no value with a choice.
std::optional<Nf> Engine::relu_of_choice(Nf u) {
  const std::vector<AtomId> conditions = conditions_of(*this, u);
  if (conditions.size() > most_conditions) return std::nullopt;
  for (const AtomId c : conditions) {
    const Nf on = with_atom(u, c, true), off = with_atom(u, c, false);
    const auto has_sign = [&](Nf e) { return nonnegative(e) || nonnegative(scale(e, -1)); };
    if (!has_sign(on) && !has_sign(off)) continue;
    if (fault == Fault::one_choice) return relu(on);
    return add(mul(of_atom(c), relu(on)), mul(sub(one, of_atom(c)), relu(off)));
  }
  return std::nullopt;
}

/// |u|, if it has a known sign in both cases of a condition. A sum of integers is chosen
/// by its sign.
std::optional<Nf> Engine::magnitude_of_choice(Nf u) {
  const auto magnitude = [&](Nf value) -> std::optional<Nf> {
    if (nonnegative(strip_iota(value))) return value;
    if (nonnegative(strip_iota(scale(value, -1)))) return scale(value, -1);
    return std::nullopt;
  };
  if (const auto same = magnitude(u)) return same;
  const std::vector<AtomId> conditions = conditions_of(*this, u);
  if (conditions.size() > most_conditions) return std::nullopt;
  for (const AtomId c : conditions) {
    const auto on = magnitude(with_atom(u, c, true)), off = magnitude(with_atom(u, c, false));
    if (on && fault == Fault::one_choice) return on;
    if (on && off) return add(mul(of_atom(c), *on), mul(sub(one, of_atom(c)), *off));
  }
  if (integer(u) && !is_single(u)) return sub(scale(relu(u), 2), u);
  return std::nullopt;
}

/// u, where the factor is a positive odd power of |u| = sqrt(u^2).
std::optional<Nf> Engine::inside_magnitude(const Factor& f) {
  if (f.exponent.den != 2 || f.exponent.sign() < 0 || !is_op(f.atom, Op::poly)) return std::nullopt;
  const Nf square = inner(f.atom);
  if (!is_single(square) || !terms(square)[0].coef.is_one()) return std::nullopt;
  const Mono& m = factors(terms(square)[0].mono);
  if (m.size() != 1 || m[0].exponent != Rational(2)) return std::nullopt;
  return is_op(m[0].atom, Op::poly) ? inner(m[0].atom) : of_atom(m[0].atom);
}

/// |u| where the condition c holds, if u has one sign there.
std::optional<Nf> Engine::magnitude_where(Nf u, AtomId c) {
  const Nf less = scale(u, -1);
  if (atoms[c].kind == AtomKind::le0) {  // e <= 0
    const Nf e = atoms[c].args[0], index = strip_iota(u);
    if (at_least(sub(e, index), 0)) return less;
    if (at_least(add(e, index), 0)) return u;
  } else if (is_op(c, Op::step)) {
    if (compare_steps(inner(c), u) == Pair::implies) return u;
    if (compare_steps(inner(c), less) == Pair::implies) return less;
  }
  return fault == Fault::magnitude_anywhere ? std::optional(u) : std::nullopt;
}

/// The product with u or -u for a |u| whose sign follows from a condition that is a factor.
std::optional<Nf> Engine::without_magnitude(const Mono& m, Rational coef) {
  for (size_t i = 0; i < m.size(); ++i) {
    const auto u = inside_magnitude(m[i]);
    if (!u) continue;
    for (const Factor& c : m) {
      if (c.exponent.sign() < 0 || !is_indicator(c.atom)) continue;
      if (const auto known = magnitude_where(*u, c.atom))
        return mul(pow(*known, m[i].exponent * 2), fix(without(m, i), coef));
    }
  }
  return std::nullopt;
}

}  // namespace shardproof::algebra
