// Two bound variables that occur only as c*|j| + j become one of range |c||j|: this turns "the sum
// over devices of the local sum" into the global sum, without div or mod.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

using Pairs = std::vector<std::pair<VarId, VarId>>;

void insert(Pairs& pairs, std::pair<VarId, VarId> p) {
  if (std::find(pairs.begin(), pairs.end(), p) == pairs.end()) pairs.push_back(p);
}

/// Pairs (c, j) with coefficient(c) = coefficient(j) * range(j) in a linear index term.
void linear_pairs(Engine& g, Nf term, Pairs& out) {
  std::vector<std::pair<VarId, Nf>> linear;
  for (const Term& t : Poly(g.terms(term))) {
    Mono sizes;
    VarSet here;
    bool plain = true;
    for (const Factor& f : Mono(g.factors(t.mono))) {
      if (g.atoms[f.atom].kind == AtomKind::size)
        sizes.push_back(f);
      else if (g.atoms[f.atom].kind == AtomKind::var && f.exponent.is_one())
        here.push_back(g.atoms[f.atom].ref);
      else
        plain = false;
    }
    if (plain && here.size() == 1) linear.push_back({here[0], g.monomial(g.mono(sizes), t.coef)});
  }
  for (auto& [c, stride] : linear)
    for (auto& [j, unit] : linear) {
      if (c == j) continue;
      bool exact = g.fault == Fault::digit_stride || g.mul(unit, g.vars[j].range) == stride;
      if (exact) insert(out, {c, j});
    }
}

VarId as_var(const Engine& g, Nf e) {
  const Poly& p = g.terms(e);
  if (p.size() != 1 || g.factors(p[0].mono).size() != 1) return UINT32_MAX;
  const Atom& a = g.atoms[g.factors(p[0].mono)[0].atom];
  return a.kind == AtomKind::var ? a.ref : UINT32_MAX;
}

}  // namespace

std::vector<std::pair<VarId, VarId>> Engine::digit_pairs(Nf e) {
  if (auto it = pair_cache.find(e.id); it != pair_cache.end()) return it->second;
  Pairs out;
  for (const Term& t : Poly(terms(e)))
    for (const Factor& f : Mono(factors(t.mono))) {
      const Atom a = atoms[f.atom];
      if (a.args.empty() || atom_vars[f.atom].size() < 2) continue;
      bool defined = a.kind == AtomKind::app && tensors[a.ref].body != Nf{} &&
                     tensors[a.ref].op != Op::leaf && tensors[a.ref].op != Op::symbol &&
                     tensors[a.ref].op != Op::iota;
      if (!defined) {
        for (Nf arg : a.args) {
          linear_pairs(*this, arg, out);
          for (auto p : digit_pairs(arg)) insert(out, p);
        }
        continue;
      }
      std::vector<Nf> ranges = tensors[a.ref].ranges;
      for (auto [c, j] : digit_pairs(tensors[a.ref].body)) {
        if (vars[c].kind != VarInfo::param || vars[j].kind != VarInfo::param) continue;
        VarId x = as_var(*this, a.args[vars[c].slot]), y = as_var(*this, a.args[vars[j].slot]);
        if (x != UINT32_MAX && y != UINT32_MAX) insert(out, {x, y});
      }
    }
  return pair_cache[e.id] = out;
}

/// Sound by the check alone: body = g(c*|j| + j) with g(w) = body at c = 0, j = w.
bool Engine::merge_digits(VarSet& bound, Nf& body) {
  for (auto [c, j] : digit_pairs(body)) {
    if (!contains(bound, c) || !contains(bound, j)) continue;
    Nf radix = vars[j].range;
    VarId w = scratch(mul(vars[c].range, radix), set_union(free_of(body), bound));
    Map there = {{c, zero}, {j, var(w)}};
    std::sort(there.begin(), there.end());
    Nf merged = substitute(body, there);
    Nf digits = add(mul(var(c), radix), var(j));
    if (fault != Fault::digit_stride && substitute(merged, {{w, digits}}) != body) continue;
    if (fault == Fault::digit_stride && (mentions(merged, c) || mentions(merged, j))) continue;
    VarSet rest;
    for (VarId v : bound)
      if (v != c && v != j) rest.push_back(v);
    rest.push_back(w);
    std::sort(rest.begin(), rest.end());
    bound = rest, body = merged;
    return true;
  }
  return false;
}

}  // namespace shardproof::algebra
