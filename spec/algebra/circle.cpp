// Sum_v f((v + c) mod n) = Sum_v f(v) for an index v of n: a sum that reads its terms in a circle.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// The shifts c of all (v + c) mod n that a term has in places of tensors, also inside functions.
class Shifts {
 public:
  Shifts(Engine& g, VarId v) : g_(g), v_(v) {}

  void read(const Mono& m, int depth = 0) {
    constexpr int deepest = 4;
    if (depth == deepest) return;
    for (const Factor& f : m) {
      if (!contains(g_.atom_vars[f.atom], v_)) continue;
      const Atom& atom = g_.atoms[f.atom];
      for (Nf place : atom.args)
        for (const Term& t : g_.terms(place)) index(g_.factors(t.mono));
      const TensorInfo* tensor = g_.derived(f.atom);
      if (!tensor || tensor->op == Op::leaf || tensor->op == Op::iota || !tensor->binders.empty())
        continue;
      for (const Term& t : g_.terms(g_.inner(f.atom))) read(g_.factors(t.mono), depth + 1);
    }
  }

  std::vector<Nf> found;

 private:
  void index(const Mono& m) {
    for (const Factor& f : m) {
      if (!g_.is_op(f.atom, Op::floor) || !contains(g_.atom_vars[f.atom], v_)) continue;
      const Nf shift = g_.sub(g_.mul(g_.inner(f.atom), g_.vars[v_].range), g_.var(v_));
      if (!g_.mentions(shift, v_) && g_.integer(shift)) found.push_back(shift);
    }
  }

  Engine& g_;
  VarId v_;
};

}  // namespace

/// The number of whole turns that i / n is away from 0 .. n - 1: -1 where i < 0, if that is at most
/// one, or 1 where n <= i.
std::optional<Engine::Turn> Engine::turn(AtomId a) {
  if (!is_op(a, Op::floor)) return std::nullopt;
  const auto of = quotient_of_integers(inner(a));
  if (!of) return std::nullopt;
  const Nf i = of->numerator, n = of->denominator;
  const bool any = fault == Fault::one_turn;
  const auto at_most = [&](Rational turns) { return any || at_least(sub(scale(n, turns), i), 1); };
  const auto value = [&](bool one_turn, Rational turns) {
    return one_turn ? std::optional(turns) : std::nullopt;
  };
  if (at_most(1)) return Turn{le0(add(i, one)), value(any || at_least(add(i, n), 0), -1)};
  if (at_least(i, 0)) return Turn{le0(sub(n, i)), value(at_most(2), 1)};
  return std::nullopt;
}

/// e with its turns as conditions.
Nf Engine::turns_as_conditions(Nf e) {
  if (!floors) return e;
  return with_factors(e, [&](const Factor& f) -> std::optional<Nf> {
    const auto of = f.exponent.is_one() ? turn(f.atom) : std::nullopt;
    return of && of->value ? std::optional(scale(of->condition, *of->value)) : std::nullopt;
  });
}

/// The bodies with v where they have (v + c) mod n, for each c in them.
std::vector<Nf> Engine::turned(VarId v, const Mono& m) {
  std::vector<Nf> all;
  Shifts here(*this, v);
  here.read(m);
  const Nf n = vars[v].range;
  for (Nf shift : here.found) {
    const Nf back = sub(var(v), shift), turns = floor(mul(back, pow(n, -1)));
    const Nf at = fault == Fault::open_circle ? back : sub(back, mul(n, turns));
    all.push_back(substitute(monomial(mono(m), 1), {{v, at}}));
  }
  return all;
}

/// The same sum without a remainder, if there is one.
std::optional<Nf> Engine::sum_in_a_circle(const VarSet& bound, const Mono& m) {
  if (!floors) return std::nullopt;
  for (VarId v : bound)
    for (Nf body : turned(v, m)) {
      Shifts left(*this, v);
      for (const Term& t : terms(body)) left.read(factors(t.mono));
      if (left.found.empty()) return sum(bound, body);
    }
  return std::nullopt;
}

/// e with each sum in a circle from where it is the oldest.
Nf Engine::turned_sums(Nf e) {
  if (!floors) return e;
  return with_sums(e, [&](const VarSet& bound, const Mono& m) {
    Nf oldest = lift_sum(bound, m);
    for (VarId v : bound)
      for (Nf body : turned(v, m)) oldest = std::min(oldest, sum(bound, body));
    return oldest;
  });
}

}  // namespace shardproof::algebra
