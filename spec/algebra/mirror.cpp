// Reversal of sums: Sum_v f(v) = Sum_v f(|v| - 1 - v). Chooses the direction in which most
// tensors read the index forwards, else most comparisons and numbers do; for a tie, the form that
// was interned first.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The sign of v as a term of the index; 0 if it is not one.
int Engine::direction(Nf index, VarId v) const {
  for (const Term& t : terms(index)) {
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || !m[0].exponent.is_one()) continue;
    const Atom& atom = atoms[m[0].atom];
    if (atom.kind == AtomKind::var && atom.ref == v) return t.coef.sign();
  }
  return 0;
}

/// i <= j is the same when both are reversed; i <= n - j is not.
void Engine::compared(Nf e, VarId v, Reads* all) const {
  const int own = direction(e, v);
  if (own == 0) return;
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || !m[0].exponent.is_one()) continue;
    const Atom& atom = atoms[m[0].atom];
    if (atom.kind != AtomKind::var || atom.ref == v) continue;
    ++(t.coef.sign() == own ? all->against : all->along);
  }
}

void Engine::Reads::add(const Reads& inner) {
  forwards = std::min(forwards + inner.forwards, most);
  backwards = std::min(backwards + inner.backwards, most);
  along = std::min(along + inner.along, most);
  against = std::min(against + inner.against, most);
}

Engine::Reads Engine::reads(Nf e, VarId v) {
  Reads all;
  if (!mentions(e, v)) return all;
  const uint64_t key = (uint64_t{e.id} << 32) | v;
  const auto [known, added] = reads_cache.try_emplace(key);
  if (!added) return known->second;
  for (const Term& t : terms(e))
    for (const Factor& f : factors(t.mono)) {
      const Atom& atom = atoms[f.atom];
      if (atom.kind == AtomKind::le0 || atom.kind == AtomKind::eq0) compared(atom.args[0], v, &all);
      if (atom.kind != AtomKind::app) continue;
      const TensorInfo& tensor = tensors[atom.ref];
      const bool opens = !is_leaf(tensor.op);
      for (size_t i = 0; i < atom.args.size(); ++i) {
        const Nf index = atom.args[i];
        if (!mentions(index, v)) continue;
        const int way = direction(index, v);
        if (tensor.op == Op::iota) {
          ++(way < 0 ? all.against : all.along);  // a number: it is turned as easily
        } else if (opens && way > 0 && is_single(index) && terms(index)[0].coef.is_one()) {
          const auto place = static_cast<uint32_t>(i);
          all.add(reads(tensor.body, slot(VarInfo::param, place, tensor.ranges[i])));
        } else if (way != 0) {
          ++(way < 0 ? all.backwards : all.forwards);
        }
      }
    }
  return reads_cache[key] = all;
}

namespace {

struct Turning {
  explicit Turning(int& count) : turns(count) { ++turns; }
  ~Turning() { --turns; }
  Turning(const Turning&) = delete;
  int& turns;
};

}  // namespace

Nf Engine::sum_either_way(const VarSet& bound, const Mono& m) {
  std::vector<Mono> ways = {m};
  for (VarId v : bound) {
    const Nf body = monomial(mono(m), 1);
    const Reads found = reads(body, v);
    if (!found.turned() && !found.ties()) continue;
    const Nf last = fault == Fault::mirror_end ? vars[v].range : sub(vars[v].range, one);
    const Map mirrored = {{v, sub(last, var(v))}};
    // Normalization may reverse the reversed form again. Then both directions are tried, and the
    // number of nested reversals is bounded.
    if (found.turned() && turns < most_turns) {
      const Nf other = substitute(body, mirrored);
      if (!reads(other, v).turned()) {
        const Turning turning(turns);
        return sum(bound, other);
      }
    }
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
