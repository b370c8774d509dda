// Interval bounds of index terms.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// The largest value of a nonnegative integer atom, if known: range - 1 for a variable, below - 1
/// for a leaf.
std::optional<Nf> largest(Engine& g, AtomId a) {
  const Atom& atom = g.atoms[a];
  if (atom.kind == AtomKind::var) return g.sub(g.vars[atom.ref].range, g.one);
  if (g.idempotent(a)) return g.one;
  if (atom.kind != AtomKind::app) return std::nullopt;
  const TensorInfo& t = g.tensors[atom.ref];
  if (t.facts.below && g.free_of(*t.facts.below).empty()) return g.sub(*t.facts.below, g.one);
  return std::nullopt;
}

}  // namespace

std::optional<Engine::Bounds> Engine::bounds(Nf e) {
  Bounds b{zero, zero};
  for (const Term& t : Poly(terms(e))) {
    Mono fixed;
    Nf high = one;
    bool moving = false;
    for (const Factor& f : Mono(factors(t.mono))) {
      AtomKind kind = atoms[f.atom].kind;
      if (kind == AtomKind::size) {
        if (!f.exponent.is_integer()) return std::nullopt;
        fixed.push_back(f);
        continue;
      }
      auto top = largest(*this, f.atom);
      if (!top || !f.exponent.is_integer() || f.exponent.sign() < 0) return std::nullopt;
      moving = true;
      high = mul(high, pow(*top, f.exponent));
    }
    Nf extreme = mul(high, monomial(mono(fixed), t.coef));
    if (!moving || t.coef.sign() > 0) b.high = add(b.high, extreme);
    if (!moving || t.coef.sign() < 0) b.low = add(b.low, extreme);
  }
  return b;
}

bool Engine::at_least(Nf e, int64_t bound) {
  if (auto n = as_number(e)) return !(*n < Rational(bound));
  if (terms(e).size() > 16) return false;
  const auto known = at_least_cache.find({e.id, bound});
  if (known != at_least_cache.end()) return known->second;
  auto b = bounds(e);
  return at_least_cache[{e.id, bound}] = b && nonnegative_sizes(sub(b->low, number(bound)));
}

}  // namespace shardproof::algebra
