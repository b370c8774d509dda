// Entries at indices with conditions, as cases: x[(i - 1) mod n] is x[n - 1] where i = 0, and x[i -
// 1] elsewhere.
#include "spec/algebra/rebuilding.h"

namespace shardproof::algebra {

namespace {

/// A condition in an index, of an indicator or of a floor; and the atom where it holds. Elsewhere
/// the atom is 0.
struct IndexCase {
  AtomId atom;
  Nf condition;
  std::optional<Rational> value;
};

std::optional<IndexCase> first_case(Engine& g, const std::vector<Nf>& indices,
                                    const std::vector<AtomId>& done) {
  for (Nf index : indices)
    for (const Term& t : g.terms(index))
      for (const Factor& f : g.factors(t.mono)) {
        if (!f.exponent.is_one() || contains(done, f.atom)) continue;
        if (g.is_indicator(f.atom)) return IndexCase{f.atom, g.of_atom(f.atom), 1};
        if (const auto turn = g.turn(f.atom))
          return IndexCase{f.atom, turn->condition, turn->value};
      }
  return std::nullopt;
}

/// e with a number for the atom.
Nf with_number(Engine& g, Nf e, AtomId atom, Rational number) {
  Nf result = g.zero;
  for (const Term& t : g.terms(e)) {
    const Mono& m = g.factors(t.mono);
    size_t i = 0;
    while (i < m.size() && !(m[i].atom == atom && m[i].exponent.is_one())) ++i;
    const bool here = i < m.size();
    result = g.add(
        result, g.monomial(here ? g.mono(without(m, i)) : t.mono, here ? t.coef * number : t.coef));
  }
  return result;
}

}  // namespace

/// A power of an entry of a leaf, or of an index as a value, in the cases of up to four conditions.
std::optional<Nf> Engine::entry_by_cases(const Factor& f, const std::vector<AtomId>& done) {
  constexpr size_t most = 4;
  const Atom& entry = atoms[f.atom];
  if (entry.kind != AtomKind::app || f.exponent.sign() < 0 || done.size() == most)
    return std::nullopt;
  const Op op = tensors[entry.ref].op;
  if (!is_leaf(op)) return std::nullopt;
  const auto found = first_case(*this, entry.args, done);
  if (!found) return std::nullopt;
  std::vector<AtomId> all = done;
  all.push_back(found->atom);
  const auto where_it_is = [&](std::optional<Rational> value) {
    std::vector<Nf> args;
    for (Nf arg : entry.args)
      args.push_back(value ? with_number(*this, arg, found->atom, *value) : arg);
    const Nf there = op == Op::iota ? iota(args[0]) : app(entry.ref, std::move(args));
    const auto atom = single_atom(there);
    const auto cases = atom ? entry_by_cases({*atom, f.exponent}, all) : std::nullopt;
    return cases ? *cases : pow(there, f.exponent);
  };
  const Nf on = where_it_is(found->value), off = where_it_is(0);
  Nf result = off;
  for (const Term& t : terms(found->condition))
    result = add(result, mul_mono(sub(on, off), t.mono, t.coef));
  return result;
}

/// e with its comparisons digit by digit, and entries as cases, at any depth.
Nf Engine::with_cases_of_indices(Nf e) {
  const auto here = [&](Nf body) {
    return compare_digits(with_factors(turns_as_conditions(body),
                                       [&](const Factor& f) { return entry_by_cases(f, {}); }));
  };
  return here(Rebuilding{*this, {}, here}.of(e));
}

}  // namespace shardproof::algebra
