// plan - model = 0? What one level tries beyond identity: denominators, sigmoids, a common binder,
// cases.
#include <algorithm>

#include "spec/algebra/cases.h"
#include "spec/algebra/congruent.h"
#include "spec/algebra/engine.h"
#include "spec/algebra/exchanged.h"
#include "spec/algebra/shared_sum.h"

namespace shardproof::algebra {

namespace {

/// sigmoid(u) = (1 + exp(-u))^-1, as a poly atom to the power -1, which
/// with_common_denominators can multiply away.
Nf expand_sigmoids(Engine& g, Nf e) {
  Nf total = g.zero;
  for (const Term& t : g.terms(e)) {
    Mono kept;
    Nf product = g.one;
    for (const Factor& f : g.factors(t.mono)) {
      if (!g.is_op(f.atom, Op::sigmoid)) {
        kept.push_back(f);
        continue;
      }
      Nf body = g.add(g.one, g.exp(g.scale(g.inner(f.atom), -1)));
      kept.push_back({g.only_atom(g.lift(Op::poly, {}, body)), -f.exponent});
    }
    product = g.fix(kept, t.coef);
    total = g.add(total, product);
  }
  return total;
}

/// e as one sum per set of binder ranges: the bodies of terms c * outer * sum body, and the
/// rest.
struct UnderSums {
  std::vector<Nf> bodies;
  Nf rest;
};

UnderSums under_sums(Engine& g, Nf e) {
  std::vector<std::pair<std::pair<VarSet, Nf>, Nf>> groups;  // (binders, outer) -> body
  Nf rest = g.zero;
  for (const Term& t : g.terms(e)) {
    Mono outer, sizes;
    std::optional<Factor> under;
    for (const Factor& f : g.factors(t.mono)) {
      if (!under && g.is_op(f.atom, Op::sum) && f.exponent.is_one())
        under = f;
      else
        (g.atoms[f.atom].kind == AtomKind::size ? sizes : outer).push_back(f);
    }
    if (!under) {
      rest = g.add(rest, g.monomial(t.mono, t.coef));
      continue;
    }
    const Atom& a = g.atoms[under->atom];
    VarSet binders;
    Nf body =
        g.mul(g.open(a.ref, a.args, g.free_of(e), &binders), g.monomial(g.mono(sizes), t.coef));
    std::sort(binders.begin(), binders.end());
    Nf outside = g.monomial(g.mono(outer), 1);
    size_t i = 0;
    while (i < groups.size() && groups[i].first != std::make_pair(binders, outside)) ++i;
    if (i == groups.size()) groups.push_back({{binders, outside}, g.zero});
    groups[i].second = g.add(groups[i].second, exchanged_like(g, body, binders, groups[i].second));
  }
  UnderSums result{{}, rest};
  for (const auto& [key, body] : groups) result.bodies.push_back(body);
  return result;
}

/// e by rules that need two values of it at once.
Nf united(Engine& g, Nf e) {
  return g.common_angles(g.unite_covers(g.unite_opposites(g.compare_digits(e))));
}

/// The rest of e after terms with equal binder ranges cancel under one sum; 1 if some do not.
Nf common_binder(Engine& g, Nf e) {
  const UnderSums sums = under_sums(g, e);
  for (Nf body : sums.bodies) {
    bool vanishes = united(g, body) == g.zero;
    for (bool sigmoids : {false, true}) {
      if (vanishes) break;
      auto r = g.with_common_denominators(sigmoids ? expand_sigmoids(g, body) : body);
      vanishes = r && *r == g.zero;
    }
    if (!vanishes) return g.one;
  }
  return sums.rest;
}

/// The ranges of a sum atom that occurs to the power 1.
std::vector<Nf> ranges_of_sum(Engine& g, const Factor& f) {
  if (!g.is_op(f.atom, Op::sum) || !f.exponent.is_one()) return {};
  return g.tensors[g.atoms[f.atom].ref].binders;
}
bool is_in(const std::vector<Nf>& all, Nf one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Splits every sum over `big` into a sum over `small` and a sum over the rest.
Nf split_range(Engine& g, Nf e, Nf big, Nf small) {
  Nf total = g.zero;
  for (const Term& t : g.terms(e)) {
    const Mono& m = g.factors(t.mono);
    size_t i = 0;
    while (i < m.size() && !is_in(ranges_of_sum(g, m[i]), big)) ++i;
    if (i == m.size()) {
      total = g.add(total, g.monomial(t.mono, t.coef));
      continue;
    }
    const Atom& a = g.atoms[m[i].atom];
    VarSet binders, avoid = g.free_of(e);
    const Nf body = g.open(a.ref, a.args, avoid, &binders);
    avoid = set_union(avoid, binders);
    const VarId cut = *std::find_if(binders.begin(), binders.end(),
                                    [&](VarId v) { return g.vars[v].range == big; });
    const VarSet others = set_minus(binders, {cut});
    const VarId u = g.scratch(small, avoid), w = g.scratch(g.sub(big, small), avoid);
    const Nf low = g.sum(set_union(others, {u}), g.substitute(body, {{cut, g.var(u)}}));
    const Nf high =
        g.sum(set_union(others, {w}), g.substitute(body, {{cut, g.add(g.var(w), small)}}));
    total = g.add(total, g.mul(g.fix(without(m, i), t.coef), g.add(low, high)));
  }
  return total;
}

/// Whether e vanishes after longer sums are split at the shorter ranges in e.
bool vanishes_in_pieces(Engine& g, Nf e, int depth) {
  if (e == g.zero || common_binder(g, e) == g.zero) return true;
  if (depth == 0) return false;
  std::vector<Nf> ranges;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono))
      for (Nf range : ranges_of_sum(g, f))
        if (!is_in(ranges, range)) ranges.push_back(range);
  if (ranges.size() > 6) return false;
  for (Nf big : ranges)
    for (Nf small : ranges)
      if (small != big && g.at_least(g.sub(big, small), 1) &&
          vanishes_in_pieces(g, split_range(g, e, big, small), depth - 1))
        return true;
  return false;
}

bool vanishes(Engine& g, Nf residue) {
  residue = united(g, g.older_sums(residue));
  if (residue == g.zero) return true;
  auto cleared = g.with_common_denominators(residue);
  if (cleared && *cleared == g.zero) return true;
  Nf without = expand_sigmoids(g, residue);
  if (without != residue) {
    cleared = g.with_common_denominators(without);
    if (cleared && *cleared == g.zero) return true;
  }
  if (g.budget.limit > 1 &&
      (under_its_equations(g, residue) == g.zero || g.sums_to_index(residue) == g.zero ||
       g.turned_sums(residue) == g.zero))
    return true;
  return vanishes_in_pieces(g, residue, 2);
}

/// Tries each value of a free variable with a constant range <= 8, or of an integer that is data:
/// every case must vanish.
bool by_cases(Engine& g, Nf residue, int depth) {
  if (vanishes(g, residue)) return true;
  for (VarId v : VarSet(g.free_of(residue))) {
    auto n = g.as_number(g.vars[v].range);
    if (!n || Rational(8) < *n || depth == 0) continue;
    for (int64_t i = 0; i < n->num; ++i)
      if (!by_cases(g, g.substitute(residue, {{v, g.number(i)}}), depth - 1)) return false;
    return true;
  }
  return depth > 0 && at_each_value(g, residue, [&](Nf e) { return by_cases(g, e, depth - 1); });
}

/// Whether e vanishes on both sides of the sizes that its free indices are compared with, such as
/// [|V| <= w].
bool on_each_side(Engine& g, Nf e, int depth) {
  const auto sides = depth > 0 ? g.sides_of_threshold(e) : std::nullopt;
  const auto gone = [&](Nf side) {
    return by_cases(g, side, 1) || on_each_side(g, side, depth - 1);
  };
  return sides && gone(sides->first) && (g.fault == Fault::one_side || gone(sides->second));
}

/// Case split on signs; also under a sum, where the signs depend on the index.
bool in_each_case_of_entries(Engine& g, Nf residue) {
  const auto done = [&](Nf rest) { return by_cases(g, rest, 1); };
  const auto in_cases = [&](Nf e) {
    if (in_each_case(g, e, done)) return true;
    const Nf split = g.split_products(e);
    return split != e && (done(split) || in_each_case(g, split, done));
  };
  if (in_cases(residue)) return true;
  const UnderSums sums = under_sums(g, residue);
  return sums.rest == g.zero && std::all_of(sums.bodies.begin(), sums.bodies.end(), [&](Nf body) {
           return done(body) || in_cases(body) || on_each_side(g, body, 2);
         });
}

/// Whether e vanishes once the functions in it are one if their arguments are. Not at limit 1: an
/// argument that is multiplied out needs no assumption if it is a square, which limits above show.
bool of_equal_arguments(Engine& g, Nf e, int depth) {
  if (g.budget.limit <= 1) return false;
  const auto done = [&](Nf rest) {
    return by_cases(g, rest, 1) || in_each_case_of_entries(g, rest) ||
           (depth > 1 && of_equal_arguments(g, rest, depth - 1));
  };
  const Nf same = with_congruent(g, e, done);
  return same != e && (by_cases(g, same, 3) || in_each_case_of_entries(g, same));
}

/// Whether e vanishes as one sum, or as sums in each other, because its body does.
bool under_shared_sums(Engine& g, Nf e, int depth) {
  if (depth == 0 || g.budget.limit <= 1) return false;
  const auto body = body_of_shared_sum(g, e);
  return body && (by_cases(g, *body, 1) ||
                  in_each_case(g, *body, [&](Nf rest) { return by_cases(g, rest, 1); }) ||
                  on_each_side(g, *body, 2) || of_equal_arguments(g, *body, 2) ||
                  under_shared_sums(g, *body, depth - 1));
}

/// The sums in e with the equations inside of their functions as cases.
Nf with_equations_apart(Engine& g, Nf e) {
  Nf total = g.zero;
  for (const Term& t : g.terms(e)) {
    Nf product = g.number(t.coef);
    for (const Factor& f : g.factors(t.mono)) {
      std::optional<Nf> apart;
      VarSet binders;
      if (g.is_op(f.atom, Op::sum) && f.exponent.is_one()) {
        const Atom& a = g.atoms[f.atom];
        apart = by_equation(g, g.open(a.ref, a.args, g.free_of(e), &binders), binders);
      }
      product = g.mul(product, apart ? g.sum(binders, *apart) : g.atom_power(f.atom, f.exponent));
    }
    total = g.add(total, product);
  }
  return total;
}

bool by_equations(Engine& g, Nf e) {
  if (g.budget.limit <= 1) return false;
  const Nf apart = with_equations_apart(g, e);
  return apart != e && (by_cases(g, apart, 1) || in_each_case_of_entries(g, apart) ||
                        under_shared_sums(g, apart, 3));
}

bool shown(Engine& g, Nf e) {
  return by_cases(g, e, 3) || on_each_side(g, e, 3) || in_each_case_of_entries(g, e) ||
         of_equal_arguments(g, e, 2) || under_shared_sums(g, e, 3) || by_equations(g, e);
}

}  // namespace

Comparison compare(Algebra& algebra, Nf plan, Nf model) {
  if (plan == model) return Comparison::equal;
  Engine& g = algebra.engine();
  const Nf residue = g.sub(plan, model);
  if (shown(g, residue)) return Comparison::equal;
  if (g.budget.limit <= 1) return Comparison::not_shown;
  std::vector<Nf> tried{residue};
  for (const auto form :
       {&Engine::with_digits_compared, &Engine::with_cases_of_indices, &Engine::with_blocks}) {
    const Nf other = (g.*form)(residue);
    if (is_in(tried, other)) continue;
    if (shown(g, other)) return Comparison::equal;
    tried.push_back(other);
  }
  return Comparison::not_shown;
}

}  // namespace shardproof::algebra
