#include "spec/lower/linear.h"

#include <algorithm>
#include <numeric>

namespace shardproof::lower {

using algebra::Atom;
using algebra::AtomId;
using algebra::AtomKind;
using algebra::Nf;
using algebra::Op;
using algebra::Rational;

bool Degrees::is(Nf e, int degree) {
  const int found = of(e);
  return found == any || found == degree;
}

int Degrees::of(Nf e) {
  if (auto it = degrees_.find(e.id); it != degrees_.end()) return it->second;
  int all = any;
  for (const algebra::Term& t : g_.terms(e)) {
    int degree = 0;
    for (const algebra::Factor& f : g_.factors(t.mono)) {
      const int own = of_atom(f.atom);
      if (own == none || (own == 1 && (degree == 1 || !(f.exponent == Rational(1))))) return none;
      degree += std::max(own, 0);
    }
    if (all != any && all != degree) return degrees_[e.id] = none;
    all = degree;
  }
  return degrees_[e.id] = all;
}

int Degrees::of_atom(AtomId id) {
  const Atom& atom = g_.atoms[id];
  if (std::any_of(atom.args.begin(), atom.args.end(), [&](Nf arg) { return touches(arg); }))
    return none;
  if (atom.kind != AtomKind::app) return 0;
  const algebra::TensorInfo& tensor = g_.tensors[atom.ref];
  if (tensor.op == Op::leaf) return leaves_.count(tensor.name) ? 1 : 0;
  if (tensor.op == Op::sum || tensor.op == Op::poly) return of(tensor.body);
  return touches(tensor.body) ? none : 0;
}

bool Degrees::touches(Nf e) {
  if (auto it = touched_.find(e.id); it != touched_.end()) return it->second;
  bool found = false;
  for (const algebra::Term& t : g_.terms(e))
    for (const algebra::Factor& f : g_.factors(t.mono)) {
      const Atom& atom = g_.atoms[f.atom];
      for (Nf arg : atom.args) found = found || touches(arg);
      if (atom.kind != AtomKind::app) continue;
      const algebra::TensorInfo& tensor = g_.tensors[atom.ref];
      found =
          found || (tensor.op == Op::leaf ? leaves_.count(tensor.name) > 0 : touches(tensor.body));
    }
  return touched_[e.id] = found;
}

Nf common_size(algebra::Engine& g, const std::vector<Nf>& sums) {
  int64_t num = 0, den = 1;
  std::vector<algebra::Factor> least;
  bool first = true;
  for (Nf e : sums) {
    if (g.terms(e).empty()) continue;
    const algebra::Engine::Content content = g.content(e, false);
    num = std::gcd(num, content.coef.num);
    den = std::lcm(den, content.coef.den);
    std::vector<algebra::Factor> sizes;
    for (const algebra::Factor& f : content.common)
      if (g.atoms[f.atom].kind == AtomKind::size && f.exponent.is_integer()) sizes.push_back(f);
    const auto of = [](const std::vector<algebra::Factor>& all, AtomId atom) {
      for (const algebra::Factor& f : all)
        if (f.atom == atom) return f.exponent;
      return Rational(0);
    };
    std::vector<algebra::Factor> both;
    for (const auto* all : {&least, &sizes})
      for (const algebra::Factor& f : *all) {
        if (of(both, f.atom).sign() != 0) continue;
        const Rational a = first ? f.exponent : of(least, f.atom), b = of(sizes, f.atom);
        const Rational less = a < b ? a : b;
        if (less.sign() != 0) both.push_back({f.atom, less});
      }
    least = std::move(both), first = false;
  }
  Nf result = g.number(first ? Rational(1) : Rational(num, den));
  for (const algebra::Factor& f : least) result = g.mul(result, g.atom_power(f.atom, f.exponent));
  return result;
}

}  // namespace shardproof::lower
