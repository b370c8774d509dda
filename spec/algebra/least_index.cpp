// The index of a row's maximum, written as a maximum: max_i where(x[i] = max x, k - i, 0) is
// k - argmax x, if no index is above k. The same for numbers that never grow with i.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {
namespace {

/// e = with * [condition] + without, for the only [.. = 0] that depends on `over`.
struct Parts {
  std::optional<AtomId> condition;
  Nf with, without;
};

std::optional<Parts> parts_of(Engine& g, const VarSet& over, Nf e) {
  Parts parts{std::nullopt, g.zero, g.zero};
  for (const Term& t : g.terms(e)) {
    Mono rest;
    for (const Factor& f : g.factors(t.mono)) {
      const bool selects =
          g.atoms[f.atom].kind == AtomKind::eq0 && g.mentions_any(g.atom_vars[f.atom], over);
      if (!selects)
        rest.push_back(f);
      else if (std::exchange(parts.condition, f.atom).value_or(f.atom) != f.atom)
        return std::nullopt;
    }
    Nf& part = rest.size() < g.factors(t.mono).size() ? parts.with : parts.without;
    part = g.add(part, g.fix(rest, t.coef));
  }
  if (!parts.condition) return std::nullopt;
  return parts;
}

/// x, if the equation says that x is the maximum of its row.
std::optional<Nf> row_of(Engine& g, const VarSet& over, Nf equation) {
  Poly moving;
  for (const Term& t : g.terms(equation))
    if (g.mentions_any(g.mono_vars[t.mono], over)) moving.push_back(t);
  const Nf x = g.poly(moving), greatest = g.sub(x, equation);
  for (int sign : {1, -1})
    if (g.max(over, g.scale(x, sign)) == g.scale(greatest, sign)) return g.scale(x, sign);
  return std::nullopt;
}

/// Whether e is never negative, and not greater at a higher index: e = above - stride i - f(i) with
/// 0 <= f < stride, or with f = 0. `index` is i for the variables `bound`, which have `count`
/// values.
bool falls(Engine& g, const VarSet& bound, Nf index, Nf count, Nf e) {
  const Nf i = g.iota(index);
  Nf stride = g.one;
  if (bound.size() == 1) {
    const auto alone = g.single_atom(i);
    stride = g.zero;
    for (const Term& t : g.terms(e)) {
      const Mono& m = g.factors(t.mono);
      for (size_t k = 0; alone && k < m.size(); ++k)
        if (m[k].atom == *alone && m[k].exponent.is_one())
          stride = g.sub(stride, g.fix(without(m, k), t.coef));
    }
  }
  const Nf rest = g.add(e, g.mul(stride, i));
  Nf above = g.zero;
  for (const Term& t : g.terms(rest))
    if (!g.mentions_any(g.mono_vars[t.mono], bound))
      above = g.add(above, g.monomial(t.mono, t.coef));
  const Nf f = g.sub(above, rest), last = g.sub(stride, g.one);
  if (g.mentions_any(g.free_of(stride), bound) || !g.at_least(stride, 0)) return false;
  const bool constant = f == g.zero;
  if (!constant && !(g.at_least(f, 0) && g.at_least(g.sub(last, f), 0))) return false;
  if (g.fault == Fault::least_index) return true;
  const Nf greatest = g.add(g.mul(stride, g.sub(count, g.one)), constant ? g.zero : last);
  return g.nonnegative(g.sub(above, greatest));
}

}  // namespace

std::optional<LeastIndex> least_index(Algebra& algebra, const std::vector<Var>& over, Nf index,
                                      Nf body) {
  Engine& g = algebra.engine();
  VarSet bound;
  Nf count = g.one;
  for (Var v : over) {
    bound.push_back(v.id);
    count = g.mul(count, algebra.range(v));
  }
  std::sort(bound.begin(), bound.end());
  const auto parts = parts_of(g, bound, body);
  if (!parts || g.mentions_any(g.free_of(parts->without), bound)) return std::nullopt;
  if (!falls(g, bound, index, count, parts->with)) return std::nullopt;
  const auto row = row_of(g, bound, g.atoms[*parts->condition].args[0]);
  if (!row) return std::nullopt;
  return LeastIndex{*row, g.add(parts->without, parts->with)};
}

}  // namespace shardproof::algebra
