// A sum is the same in either direction: Sum_v f(v) = Sum_v f(|v| - 1 - v). Its index runs the way
// that most tensors read it; of two ways that read alike the form that was interned first is taken.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

Engine::Reads Engine::reads(Nf e, VarId v) {
  Reads all;
  if (!mentions(e, v)) return all;
  const auto [known, added] = reads_cache.try_emplace((uint64_t{e.id} << 32) | v);
  if (!added) return known->second;
  for (const Term& t : Poly(terms(e)))
    for (const Factor& f : Mono(factors(t.mono))) {
      const Atom& atom = atoms[f.atom];
      if (atom.kind != AtomKind::app) continue;
      const Tensor& tensor = tensors[atom.ref];
      const bool opens = tensor.op != Op::leaf && tensor.op != Op::symbol && tensor.op != Op::iota;
      for (size_t i = 0; i < atom.args.size(); ++i) {
        const Reads here = opens && atom.args[i] == var(v)
                               ? reads(tensor.body, slot(VarInfo::param, static_cast<uint32_t>(i),
                                                         tensor.ranges[i]))
                               : reads_of_index(atom.args[i], v);
        all.forwards += here.forwards, all.backwards += here.backwards;
      }
    }
  return reads_cache[(uint64_t{e.id} << 32) | v] = all;
}

Engine::Reads Engine::reads_of_index(Nf index, VarId v) {
  Reads all;
  for (const Term& t : terms(index)) {
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || !(monomial(t.mono, 1) == var(v))) continue;
    ++(t.coef.sign() < 0 ? all.backwards : all.forwards);
  }
  return all;
}

Nf Engine::sum_either_way(const VarSet& bound, const Mono& m) {
  std::vector<Mono> ways = {m};
  for (VarId v : bound) {
    const Nf body = monomial(mono(m), 1);
    const Reads found = reads(body, v);
    if (found.backwards == 0 || found.backwards < found.forwards) continue;
    const Nf last = fault == Fault::mirror_end ? vars[v].range : sub(vars[v].range, one);
    const Map mirrored = {{v, sub(last, var(v))}};
    if (found.backwards > found.forwards) return sum(bound, substitute(body, mirrored));
    for (size_t i = ways.size(); i-- > 0 && ways.size() < 8;) {
      const Nf other = substitute(monomial(mono(ways[i]), 1), mirrored);
      if (is_single(other) && terms(other)[0].coef.is_one())
        ways.push_back(factors(terms(other)[0].mono));
    }
  }
  Nf first = lift_sum(bound, m);
  for (size_t i = 1; i < ways.size(); ++i)
    if (const Nf other = lift_sum(bound, ways[i]); other < first) first = other;
  return first;
}

}  // namespace shardproof::algebra
