// Merges two bound variables that occur only as c*|j| + j into one of range |c||j|: the sum over
// devices of the local sum becomes the global sum, without div or mod.
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
  for (const Term& t : g.terms(term)) {
    Mono sizes;
    VarSet here;
    bool plain = true;
    for (const Factor& f : g.factors(t.mono)) {
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
  for (const Term& t : terms(e))
    for (const Factor& f : factors(t.mono)) {
      const Atom& a = atoms[f.atom];
      if (a.args.empty() || atom_vars[f.atom].size() < 2) continue;
      bool defined =
          a.kind == AtomKind::app && tensors[a.ref].body != Nf{} && !is_leaf(tensors[a.ref].op);
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

/// A quick test whether c and j may be digits of one index throughout e. False is certain; the
/// caller must verify true.
bool Engine::may_be_digits(Nf e, VarId c, VarId j) {
  const auto key = std::make_tuple(e.id, c, j);
  if (const auto known = digits_cache.find(key); known != digits_cache.end()) return known->second;
  bool may = true;
  for (const Term& t : terms(e))
    for (const Factor& f : factors(t.mono)) may = may && may_be_digits_in(f.atom, c, j);
  return digits_cache[key] = may;
}

bool Engine::may_be_digits_in(AtomId id, VarId c, VarId j) {
  const bool has_c = contains(atom_vars[id], c), has_j = contains(atom_vars[id], j);
  const Atom& a = atoms[id];
  if (has_c != has_j) return false;
  if (!has_c || a.kind != AtomKind::app) return true;
  const TensorInfo& t = tensors[a.ref];
  VarId inner_c = UINT32_MAX, inner_j = UINT32_MAX;
  for (uint32_t i = 0; i < a.args.size(); ++i) {
    if (is_leaf(t.op) && !is_digits(a.args[i], c, j)) return false;
    const VarId v = as_var(*this, a.args[i]);
    if (v == c) inner_c = slot(VarInfo::param, i, t.ranges[i]);
    if (v == j) inner_j = slot(VarInfo::param, i, t.ranges[i]);
  }
  if (is_leaf(t.op) || inner_c == UINT32_MAX || inner_j == UINT32_MAX) return true;
  return may_be_digits(t.body, inner_c, inner_j);
}

/// Whether an index term has neither c nor j, or has them as u * (c*|j| + j).
bool Engine::is_digits(Nf index, VarId c, VarId j) {
  if (!mentions(index, c) && !mentions(index, j)) return true;
  const Nf both = add(mul(var(c), vars[j].range), var(j));
  Map there = {{c, zero}, {j, both}};
  std::sort(there.begin(), there.end());
  return substitute(index, there) == index;
}

/// Sound because it checks: body = g(c*|j| + j) for g(w) = body at c = 0, j = w.
bool Engine::merge_digits(VarSet& bound, Nf& body) {
  for (auto [c, j] : digit_pairs(body)) {
    if (!contains(bound, c) || !contains(bound, j)) continue;
    if (fault != Fault::digit_stride && !may_be_digits(body, c, j)) continue;
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
