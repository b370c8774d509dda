// [c] F([c]) = [c] F(1): under the factor [c], the argument of F is what it is where c holds. F is
// a function, a product, or a sum over other indices.
#include <algorithm>
#include <iterator>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

bool Engine::is_conditional(AtomId a) {
  const TensorId t = atoms[a].ref;
  if (const auto known = conditional.find(t); known != conditional.end()) return known->second;
  bool found = false;
  for (const Term& term : terms(tensors[t].body))
    for (const Factor& f : factors(term.mono))
      found = found || is_indicator(f.atom) || inside_magnitude(f) ||
              ((is_op(f.atom, Op::poly) || is_op(f.atom, Op::sum)) && is_conditional(f.atom));
  return conditional[t] = found;
}

namespace {

/// Where `step` ends, from u on: what it no longer changes, or the oldest term of a circle, in
/// which a condition is in the condition of another. u, if it does not end soon.
template <class Step>
Nf settled(Nf u, Step step) {
  constexpr size_t most = 4;
  std::vector<Nf> path{u};
  while (path.size() <= most) {
    const Nf next = step(path.back());
    const auto before = std::find(path.begin(), path.end(), next);
    if (before != path.end())
      return *std::min_element(before, path.end(), [](Nf a, Nf b) { return a.id < b.id; });
    path.push_back(next);
  }
  return u;
}

}  // namespace

/// The function atom where the conditions hold; none if its argument is the same there. Under [c],
/// F(u) is F(v) for each v with [c] u = [c] v.
std::optional<Nf> Engine::where_given(AtomId a, const Mono& conditions) {
  const MonoId all = mono(Mono(conditions));
  const uint64_t key = static_cast<uint64_t>(a) << 32 | all;
  if (const auto known = given_cache.find(key); known != given_cache.end()) return known->second;
  VarSet binders;
  const VarSet outside = set_union(atom_vars[a], mono_vars[all]);
  const Nf u = open(atoms[a].ref, atoms[a].args, outside, &binders);
  const Nf there = settled(u, [&](Nf e) {
    for (const Factor& c : conditions) e = with_atom(mul(of_atom(c.atom), e), c.atom, true);
    return e;
  });
  constexpr size_t few = 8;
  if (there == u || terms(there).size() > std::max(terms(u).size(), few))
    return given_cache[key] = std::nullopt;
  return given_cache[key] = rebuild(tensors[atoms[a].ref].op, binders, there);
}

std::optional<Nf> Engine::given(const Mono& m, Rational coef) {
  static constexpr Op functions[] = {Op::poly, Op::sum, Op::exp, Op::log,  Op::sigmoid,
                                     Op::erf,  Op::sin, Op::cos, Op::floor};
  if (m.size() < 2 && fault != Fault::given_anywhere) return std::nullopt;
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::app) continue;
    const Op op = tensors[atoms[m[i].atom].ref].op;
    if (std::find(std::begin(functions), std::end(functions), op) == std::end(functions)) continue;
    if (!is_conditional(m[i].atom)) continue;
    Mono conditions;
    for (const Factor& f : m)
      if (f.exponent.sign() > 0 && is_indicator(f.atom)) conditions.push_back(f);
    if (fault == Fault::given_anywhere)
      for (const Term& term : terms(inner(m[i].atom)))
        for (const Factor& f : factors(term.mono))
          if (is_indicator(f.atom)) conditions = {f};
    if (conditions.empty()) continue;
    if (const auto known = where_given(m[i].atom, conditions))
      return mul(pow(*known, m[i].exponent), fix(without(m, i), coef));
  }
  return std::nullopt;
}

}  // namespace shardproof::algebra
