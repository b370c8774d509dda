// Sum_c [E(c) <= 0] - [E(c+1) <= 0] = [E(0) <= 0] - [E(n) <= 0]: each index is in exactly one
// window of a partition.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// Whether c occurs in e only linearly, with a coefficient of sizes: then e at c+1 is computed, not
/// a tensor access.
bool linear_in(Engine& g, Nf e, VarId c) {
  for (const Term& t : g.terms(e)) {
    if (!contains(g.mono_vars[t.mono], c)) continue;
    for (const Factor& f : g.factors(t.mono)) {
      const Atom& a = g.atoms[f.atom];
      bool is_c = a.kind == AtomKind::var && a.ref == c && f.exponent.is_one();
      if (!is_c && a.kind != AtomKind::size) return false;
    }
  }
  return true;
}

struct Split {
  MonoId rest = 0;  // without c
  Nf e;             // of the factor [e <= 0], which mentions c
};

std::optional<Split> split(Engine& g, MonoId m, VarId c) {
  const Mono& factors = g.factors(m);
  std::optional<size_t> only;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!contains(g.atom_vars[factors[i].atom], c)) continue;
    if (only || g.atoms[factors[i].atom].kind != AtomKind::le0 || !factors[i].exponent.is_one())
      return std::nullopt;
    only = i;
  }
  if (!only) return std::nullopt;
  Nf e = g.atoms[factors[*only].atom].args[0];
  if (!linear_in(g, e, c)) return std::nullopt;
  return Split{g.mono(without(factors, *only)), e};
}

}  // namespace

Nf Engine::sum_telescoping(const VarSet& bound, Nf body, bool* done) {
  const Poly& p = terms(body);
  for (VarId c : bound)
    for (const Term& t : p) {
      auto first = split(*this, t.mono, c);
      if (!first) continue;
      Nf next = substitute(first->e, {{c, add(var(c), one)}});
      for (const Term& u : p) {
        if (u.coef != -t.coef || u.mono == t.mono) continue;
        auto second = split(*this, u.mono, c);
        if (!second || second->rest != first->rest) continue;
        if (second->e != next && fault != Fault::telescoping) continue;
        *done = true;
        Nf pair = add(monomial(t.mono, t.coef), monomial(u.mono, u.coef));
        Nf ends = sub(le0(substitute(first->e, {{c, zero}})),
                      le0(substitute(first->e, {{c, vars[c].range}})));
        Nf rest = mul(monomial(first->rest, t.coef), ends);
        return add(sum(bound, sub(body, pair)), sum(set_minus(bound, {c}), rest));
      }
    }
  return zero;
}

}  // namespace shardproof::algebra
