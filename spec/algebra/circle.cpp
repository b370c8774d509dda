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
      const Atom atom = g_.atoms[f.atom];
      for (Nf place : atom.args)
        for (const Term& t : Poly(g_.terms(place))) index(g_.factors(t.mono));
      const TensorInfo* tensor = g_.derived(f.atom);
      if (!tensor || tensor->op == Op::leaf || tensor->op == Op::iota || !tensor->binders.empty())
        continue;
      for (const Term& t : Poly(g_.terms(g_.inner(f.atom)))) read(g_.factors(t.mono), depth + 1);
    }
  }

  std::vector<Nf> found;

 private:
  void index(const Mono& m) {
    for (const Factor& f : Mono(m)) {
      if (!g_.is_op(f.atom, Op::floor) || !contains(g_.atom_vars[f.atom], v_)) continue;
      const Nf shift = g_.sub(g_.mul(g_.inner(f.atom), g_.vars[v_].range), g_.var(v_));
      if (!g_.mentions(shift, v_) && g_.integer(shift)) found.push_back(shift);
    }
  }

  Engine& g_;
  VarId v_;
};

}  // namespace

/// The same sum, with v where it has (v + c) mod n, for the c that leaves the fewest remainders; of
/// several, the sum that is oldest.
std::optional<Nf> Engine::sum_in_a_circle(const VarSet& bound, const Mono& m) {
  if (!floors) return std::nullopt;
  for (VarId v : bound) {
    Shifts here(*this, v);
    here.read(m);
    const Nf n = vars[v].range;
    std::optional<Nf> oldest;
    for (Nf shift : here.found) {
      const Nf back = sub(var(v), shift), turns = floor(mul(back, pow(n, -1)));
      const Nf at = fault == Fault::open_circle ? back : sub(back, mul(n, turns));
      const Nf turned = substitute(monomial(mono(m), 1), {{v, at}});
      Shifts there(*this, v);
      for (const Term& t : Poly(terms(turned))) there.read(factors(t.mono));
      if (there.found.size() < here.found.size()) return sum(bound, turned);
      if (there.found.size() > here.found.size() || !is_single(turned)) continue;
      const Term only = terms(turned)[0];
      const Nf other = scale(sum_either_way(bound, factors(only.mono)), only.coef);
      if (!oldest) oldest = sum_either_way(bound, m);
      oldest = std::min(*oldest, other);
    }
    if (oldest) return oldest;
  }
  return std::nullopt;
}

}  // namespace shardproof::algebra
