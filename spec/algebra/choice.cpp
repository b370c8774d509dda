// Values that a condition chooses: [max(a, b) > 0] is [a > 0] or [b > 0], and |where(c, a, b)| is
// where(c, |a|, |b|).
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

/// |u|, if it has a known sign in both cases of a condition.
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
  return std::nullopt;
}

}  // namespace shardproof::algebra
