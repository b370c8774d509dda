// The index of a row's maximum, written as a maximum: max_i where(x[i] = max x, k - i, 0) is
// k - argmax x, if no index is above k.
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
  for (const Term& t : Poly(g.terms(e))) {
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
  const Nf above = g.add(parts->with, g.iota(index));
  if (g.mentions_any(g.free_of(above), bound)) return std::nullopt;
  if (g.fault != Fault::least_index && !g.nonnegative(g.add(g.sub(above, count), g.one)))
    return std::nullopt;
  const auto row = row_of(g, bound, g.atoms[*parts->condition].args[0]);
  if (!row) return std::nullopt;
  return LeastIndex{*row, g.add(parts->without, above)};
}

}  // namespace shardproof::algebra
