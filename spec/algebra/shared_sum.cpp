// Terms that are sums over a dim, also with others inside, and terms that are none, as one sum over
// it: 1 + sum_i f(i) + sum_i sum_j g(i, j) = sum_i (1 / n + f(i) + sum_j g(i, j)).
#include "spec/algebra/shared_sum.h"

#include <algorithm>

namespace shardproof::algebra {

namespace {

/// The first factor of m that is a sum over `range`, and perhaps over others; m.size() if none is.
size_t sum_over(Engine& g, const Mono& m, Nf range) {
  return static_cast<size_t>(std::find_if(m.begin(), m.end(),
                                          [&](const Factor& f) {
                                            if (!g.is_op(f.atom, Op::sum) || !f.exponent.is_one())
                                              return false;
                                            const TensorInfo& t = g.tensors[g.atoms[f.atom].ref];
                                            return std::find(t.binders.begin(), t.binders.end(),
                                                             range) != t.binders.end();
                                          }) -
                             m.begin());
}

/// The range that most terms of e are summed over.
std::optional<Nf> most_common_range(Engine& g, Nf e) {
  std::vector<std::pair<Nf, size_t>> counted;
  for (const Term& t : g.terms(e)) {
    std::vector<Nf> own;
    for (const Factor& f : g.factors(t.mono))
      if (g.is_op(f.atom, Op::sum) && f.exponent.is_one())
        for (Nf range : g.tensors[g.atoms[f.atom].ref].binders)
          if (std::find(own.begin(), own.end(), range) == own.end()) own.push_back(range);
    for (Nf range : own) {
      const auto known = std::find_if(counted.begin(), counted.end(),
                                      [&](const auto& each) { return each.first == range; });
      if (known == counted.end())
        counted.push_back({range, 1});
      else
        ++known->second;
    }
  }
  const auto most =
      std::max_element(counted.begin(), counted.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counted.end() ? std::nullopt : std::optional<Nf>(most->first);
}

/// The binder over `range` that occurs in most factors of body.
VarId outer_binder(Engine& g, const VarSet& binders, Nf range, Nf body) {
  std::optional<VarId> best;
  size_t most = 0;
  for (VarId v : binders) {
    if (g.vars[v].range != range) continue;
    size_t uses = 0;
    for (const Term& t : g.terms(body))
      for (const Factor& f : g.factors(t.mono)) uses += contains(g.atom_vars[f.atom], v);
    if (!best || uses > most) best = v, most = uses;
  }
  return *best;
}

}  // namespace

std::optional<Nf> body_of_shared_sum(Engine& g, Nf e) {
  const auto range = most_common_range(g, e);
  if (!range || !g.free_of(*range).empty() || !g.at_least(*range, 1)) return std::nullopt;
  const VarSet& free = g.free_of(e);
  const VarId v = g.scratch(*range, free);
  VarSet avoid = free;
  avoid.insert(std::upper_bound(avoid.begin(), avoid.end(), v), v);
  const Nf share = g.fault == Fault::shared_sum ? g.one : g.pow(*range, -1);
  Nf total = g.zero;
  for (const Term& t : g.terms(e)) {
    const Mono& m = g.factors(t.mono);
    const size_t at = sum_over(g, m, *range);
    if (at == m.size()) {
      total = g.add(total, g.mul(share, g.monomial(t.mono, t.coef)));
      continue;
    }
    const Atom& sum = g.atoms[m[at].atom];
    VarSet binders;
    const Nf body = g.open(sum.ref, sum.args, avoid, &binders);
    const VarId own = outer_binder(g, binders, *range, body);
    std::erase(binders, own);
    const Nf inside = g.sum(binders, g.substitute(body, {{own, g.var(v)}}));
    total = g.add(total, g.mul(g.fix(without(m, at), t.coef), inside));
  }
  return total;
}

}  // namespace shardproof::algebra
