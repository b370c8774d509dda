// Simultaneous substitution of terms for variables; the result is in normal form again.
#include <algorithm>

#include "spec/algebra/engine.h"
#include "spec/algebra/hashing.h"

namespace shardproof::algebra {

/// Whether the map only renames variables to others with the same ranges that do not occur in `e`:
/// then the normal form is preserved.
bool Engine::only_renames(Nf e, const Map& map) const {
  for (const auto& [v, image] : map) {
    const auto alone = single_atom(image);
    if (!alone || atoms[*alone].kind != AtomKind::var ||
        vars[atoms[*alone].ref].range != vars[v].range)
      return false;
  }
  VarSet taken = free_of(e);
  for (const auto& [v, image] : map) taken.erase(std::find(taken.begin(), taken.end(), v));
  for (const auto& [v, image] : map) {
    const VarId other = atoms[*single_atom(image)].ref;
    if (contains(taken, other)) return false;
    taken.push_back(other);
  }
  return true;
}

Nf Engine::substitute(Nf e, const Map& full) {
  const auto has = [&](const auto& entry) { return mentions(e, entry.first); };
  Map some;
  const bool all = std::all_of(full.begin(), full.end(), has);
  if (!all) std::copy_if(full.begin(), full.end(), std::back_inserter(some), has);
  const Map& map = all ? full : some;
  if (map.empty()) return e;
  std::optional<Nf>& known = substituted(e.id, maps.intern(map).first);
  if (known) return *known;
  constexpr int most_nested =
      2000;  // an index of an index of an index: each holds the one before twice
  const Deeper deeper(substitute_depth, most_nested);
  const bool renames = only_renames(e, map);
  Poly out;
  out.reserve(terms(e).size());
  for (const Term& t : terms(e)) {
    Mono simple;  // factors that remain single atoms are multiplied together at the end
    simple.reserve(factors(t.mono).size());
    Nf rest = one;
    for (const Factor& f : factors(t.mono)) {
      Nf image = substitute_atom(f.atom, map);
      const Poly& p = terms(image);
      if (p.size() == 1 && p[0].coef.is_one() && factors(p[0].mono).size() == 1 &&
          factors(p[0].mono)[0].exponent.is_one())
        simple.push_back({factors(p[0].mono)[0].atom, f.exponent});
      else
        rest = mul(rest, pow(image, f.exponent));
    }
    if (renames && simple.size() == factors(t.mono).size()) {
      std::sort(simple.begin(), simple.end(),
                [](const Factor& x, const Factor& y) { return x.atom < y.atom; });
      out.push_back({mono(std::move(simple)), t.coef});
      continue;
    }
    const Poly& p = terms(mul(fix(std::move(simple), t.coef), rest));
    out.insert(out.end(), p.begin(), p.end());
  }
  Nf result = add_all(std::move(out));
  note_same_sign(e, result);
  return *(known = result);
}

Nf Engine::substitute_atom(AtomId a, const Map& map) {
  const Atom& atom = atoms[a];
  if (atom.kind == AtomKind::var)
    for (const auto& [v, e] : map)
      if (v == atom.ref) return e;
  std::vector<Nf> args = atom.args;
  for (Nf& arg : args) arg = substitute(arg, map);
  if (atom.kind == AtomKind::app && args == atom.args) return of_atom(a);
  return with_arguments(a, std::move(args));
}

/// The entry of a tensor at other indices, or a comparison of another term.
Nf Engine::with_arguments(AtomId a, std::vector<Nf> args) {
  const Atom& atom = atoms[a];
  switch (atom.kind) {
    case AtomKind::size:
    case AtomKind::prime:
    case AtomKind::var:
      return of_atom(a);
    case AtomKind::eq0:
      return eq0(args[0]);
    case AtomKind::le0:
      return le0(args[0]);
    case AtomKind::app:
      break;
  }
  if (tensors[atom.ref].op == Op::iota) return iota(args[0]);
  return app(atom.ref, std::move(args));
}

}  // namespace shardproof::algebra
