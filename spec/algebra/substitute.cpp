// Simultaneous substitution of terms for variables; the result is in normal form again.
#include <algorithm>

#include "spec/algebra/engine.h"
#include "spec/algebra/hashing.h"

namespace shardproof::algebra {

Nf Engine::substitute(Nf e, const Map& full) {
  Map map;
  for (const auto& entry : full)
    if (mentions(e, entry.first)) map.push_back(entry);
  if (map.empty()) return e;
  uint64_t key = static_cast<uint64_t>(e.id) << 32 | maps.intern(map).first;
  if (auto it = substitute_cache.find(key); it != substitute_cache.end()) return it->second;
  Poly out;
  for (const Term& t : Poly(terms(e))) {
    Mono simple;  // factors that stay single atoms are multiplied at once
    Nf rest = one;
    for (const Factor& f : Mono(factors(t.mono))) {
      Nf image = substitute_atom(f.atom, map);
      const Poly& p = terms(image);
      if (p.size() == 1 && p[0].coef.is_one() && factors(p[0].mono).size() == 1 &&
          factors(p[0].mono)[0].exponent.is_one())
        simple.push_back({factors(p[0].mono)[0].atom, f.exponent});
      else
        rest = mul(rest, pow(image, f.exponent));
    }
    const Poly& p = terms(mul(fix(simple, t.coef), rest));
    out.insert(out.end(), p.begin(), p.end());
  }
  Nf result = add_all(std::move(out));
  substitute_cache.emplace(key, result);
  return result;
}

Nf Engine::substitute_atom(AtomId a, const Map& map) {
  const Atom atom = atoms[a];
  switch (atom.kind) {
    case AtomKind::size:
    case AtomKind::prime:
      return of_atom(a);
    case AtomKind::var:
      for (const auto& [v, e] : map)
        if (v == atom.ref) return e;
      return of_atom(a);
    case AtomKind::eq0:
      return eq0(substitute(atom.args[0], map));
    case AtomKind::le0:
      return le0(substitute(atom.args[0], map));
    case AtomKind::app:
      break;
  }
  std::vector<Nf> args;
  for (Nf arg : atom.args) args.push_back(substitute(arg, map));
  if (args == atom.args) return of_atom(a);
  if (tensors[atom.ref].op == Op::iota) return iota(args[0]);
  return app(atom.ref, std::move(args));
}

}  // namespace shardproof::algebra
