// Known facts about values: positive, nonnegative, integer. Returns false if unknown.
#include <algorithm>
#include <numeric>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

void Engine::forget_facts() {
  positive_cache.clear();
  nonnegative_cache.clear();
  integer_cache.clear();
  size_sign_cache.clear();
  at_least_cache.clear();
  pair_facts.clear();
}

/// Declares that a term of sizes is an integer >= 1.
void Engine::declare_range(Nf range) {
  for (Nf known : integral_ranges)
    if (known == range) return;
  bool plain = is_single(range) && terms(range)[0].coef.is_integer();
  if (plain)
    for (const Factor& f : factors(terms(range)[0].mono)) plain = plain && f.exponent.sign() > 0;
  if (plain || as_number(range)) return;  // true without a declaration
  integral_ranges.push_back(range);
  forget_facts();
  indicator_cache.clear();
}

void Engine::declare_positive(Nf e) {
  declared_positive.push_back(e);
  if (!is_single(e)) {  // also its poly atom, for all values of its variables
    Nf inside = lift(Op::poly, {}, content(e, false).body);
    declared_positive.push_back(tensors[atoms[only_atom(inside)].ref].body);
  }
  forget_facts();
  pow_cache.clear();
}

/// Whether the atom is leaf[i, j] with different variables of full range: a fact about it holds for
/// every entry. leaf[0] is one entry.
bool Engine::every_entry(AtomId a) {
  const TensorInfo& t = tensors[atoms[a].ref];
  if (t.op != Op::leaf) return false;
  VarSet seen;
  for (size_t i = 0; i < atoms[a].args.size(); ++i) {
    const Nf arg = atoms[a].args[i];
    const VarSet& free = free_of(arg);
    if (free.size() != 1 || arg != var(free[0]) || vars[free[0]].range != t.ranges.at(i))
      return false;
    if (contains(seen, free[0])) return false;
    seen = set_union(seen, free);
  }
  return true;
}

bool Engine::positive_atom(AtomId a) {
  if (fault == Fault::every_atom_positive) return true;
  const Atom& atom = atoms[a];
  if (atom.kind == AtomKind::size || atom.kind == AtomKind::prime) return true;
  if (atom.kind != AtomKind::app) return false;
  const TensorInfo& t = tensors[atom.ref];
  switch (t.op) {
    case Op::exp:
    case Op::sigmoid:
      return true;
    case Op::sum:
      return positive(t.body) || counts_greatest(a);
    case Op::max:
    case Op::poly:
    case Op::sealed:
      return positive(t.body);
    case Op::log:
      return at_least(t.body, 2);
    case Op::leaf:
    case Op::iota:
    case Op::symbol:
    case Op::lambda:
    case Op::erf:
    case Op::sin:
    case Op::cos:
    case Op::floor:
    case Op::step:
      break;
  }
  if (t.facts.positive) return true;
  const Interval bounds = interval(a);
  if (bounds.low && (bounds.low->sign() > 0 || (bounds.low->is_zero() && bounds.above)))
    return true;
  for (Nf known : declared_positive)
    if (is_single(known) && terms(known)[0].coef.sign() > 0) {
      const Mono& m = factors(terms(known)[0].mono);
      if (m.size() == 1 && m[0].exponent.is_one() && derived(m[0].atom) &&
          atoms[m[0].atom].ref == atom.ref && (m[0].atom == a || every_entry(m[0].atom)))
        return true;
    }
  return false;
}

bool Engine::nonnegative_atom(AtomId a, Rational exponent) {
  if (positive_atom(a) || idempotent(a)) return true;
  if (!exponent.is_integer() || exponent.num % 2 == 0) return true;
  const Atom& atom = atoms[a];
  if (atom.kind == AtomKind::var) return true;
  if (atom.kind != AtomKind::app) return false;
  const TensorInfo& t = tensors[atom.ref];
  if (t.op == Op::sum || t.op == Op::max || t.op == Op::poly || t.op == Op::sealed)
    return nonnegative(t.body);
  if (t.op == Op::iota) return nonnegative(atom.args.at(0));
  if (t.op == Op::log) return at_least(t.body, 1);
  if (t.facts.below) return true;
  const Interval bounds = interval(a);
  return bounds.low && bounds.low->sign() >= 0;
}

bool Engine::never_negative(AtomId a) {
  return positive_atom(a) || (!is_indicator(a) && nonnegative_atom(a, 1));
}

/// Whether the atom is < 0, or not defined, e.g. the logarithm of a fraction.
bool Engine::negative_where_defined(AtomId a) {
  if (atoms[a].kind != AtomKind::app || is_indicator(a)) return false;
  const Interval of = is_op(a, Op::log) ? bounds_of(inner(a)) : interval(a);
  const Rational least = is_op(a, Op::log) ? 1 : 0;
  return of.high && (*of.high < least || (*of.high == least && of.below));
}

/// The base of a root, which is > 0 where the root is.
std::optional<Nf> Engine::base_of_root(Nf e) {
  if (!is_single(e) || terms(e)[0].coef.sign() < 0) return std::nullopt;
  const Mono& m = factors(terms(e)[0].mono);
  if (m.size() != 1 || m[0].exponent.is_integer() || !derived(m[0].atom)) return std::nullopt;
  return base_of(m[0].atom);
}

/// Whether u, a polynomial, is positive in both cases of a comparison [v > 0] in it, e.g. of
/// maximum(1, n) = n + [1 - n > 0] (1 - n): where v > 0, u >= u - k v, and elsewhere u >= u + k v,
/// for k >= 0.
bool Engine::positive_in_cases(Nf u, bool strict) {
  constexpr size_t most_terms = 8;
  if (terms(u).size() > most_terms) return false;
  std::optional<AtomId> found;
  for (const Term& t : terms(u))
    for (const Factor& f : factors(t.mono))
      if (!found && f.exponent.is_one() &&
          (is_op(f.atom, Op::step) || atoms[f.atom].kind == AtomKind::le0))
        found = f.atom;
  if (!found) return false;
  Nf on = with_atom(u, *found, true), off = with_atom(u, *found, false);
  const bool at_most = atoms[*found].kind == AtomKind::le0;  // [v <= 0] is 1 - [v > 0]
  if (at_most) std::swap(on, off);
  if (const auto base = base_of_root(on)) on = *base;
  if (const auto base = base_of_root(off)) off = *base;
  const Nf v = at_most ? atoms[*found].args[0] : inner(*found);
  /// The k for which the first term of v that is no number leaves e - k v.
  const auto multiple = [&](Nf e) {
    for (const Term& of_v : terms(v))
      if (!factors(of_v.mono).empty())
        for (const Term& t : terms(e))
          if (t.mono == of_v.mono) return t.coef / of_v.coef;
    return Rational(0);
  };
  const Rational k_on = multiple(on), k_off = multiple(off);
  const bool any = fault == Fault::case_of_any_sign;
  const bool adds = any || k_on.sign() > 0, takes = any || k_off.sign() < 0;
  const Nf least_on = adds ? sub(on, scale(v, k_on)) : on;
  const Nf least_off = takes ? sub(off, scale(v, k_off)) : off;
  return (strict && !adds ? positive(least_on) : nonnegative(least_on)) &&
         (strict ? positive(least_off) : nonnegative(least_off));
}

/// Whether e is a maximum with an operand that is > 0 (`strict`) or >= 0.
bool Engine::of_positive_operand(Nf e, bool strict) {
  const auto known = maxima.find(e.id);
  if (known == maxima.end()) return false;
  const std::vector<Nf> all = known->second;
  return std::any_of(all.begin(), all.end(),
                     [&](Nf each) { return strict ? positive(each) : nonnegative(each); });
}

bool Engine::positive(Nf e) {
  if (const auto known = positive_cache.of(e)) return *known;
  bool strict = false, all = e != zero;
  for (const Term& t : terms(e)) {
    bool term_strict = true;
    all = all && t.coef.sign() > 0;
    for (const Factor& f : factors(t.mono)) {
      if (!all) break;
      all = nonnegative_atom(f.atom, f.exponent);
      term_strict = term_strict && positive_atom(f.atom);
    }
    if (!all) break;
    strict = strict || term_strict;
  }
  strict = strict || (all && positive_at_zero_too(terms(e)));
  const auto square = squares.find(e.id);
  bool result = (all && strict) || (square != squares.end() && square->second) || at_least(e, 1);
  for (Nf known : declared_positive) result = result || known == e;
  if (!result && !is_single(e) && !declared_positive.empty()) {
    Nf body = content(e, false).body;
    for (Nf known : declared_positive) result = result || known == body;
  }
  result = result || bounded_below(e, true) || positive_in_cases(e, true) ||
           bounded_by_entries(e, true) || of_positive_operand(e, true);
  return positive_cache.set(e, result);
}

/// Whether each term of e is >= 0 because each of its factors is.
bool Engine::nonnegative_terms(Nf e) {
  for (const Term& t : terms(e)) {
    if (t.coef.sign() < 0) return false;
    for (const Factor& f : factors(t.mono))
      if (!nonnegative_atom(f.atom, f.exponent)) return false;
  }
  return true;
}

bool Engine::nonnegative(Nf e) {
  if (e == zero) return true;
  if (const auto known = nonnegative_cache.of(e)) return *known;
  bool result = nonnegative_terms(e) || squares.contains(e.id) || at_least(e, 0) || positive(e) ||
                bounded_below(e, false) || positive_in_cases(e, false) ||
                nonnegative_in_each_case(e) || nonnegative_product(e) ||
                bounded_by_entries(e, false) || of_positive_operand(e, false);
  return nonnegative_cache.set(e, result);
}

bool Engine::integer_atom(AtomId a) {
  const Atom& atom = atoms[a];
  if (atom.kind == AtomKind::prime) return false;
  if (atom.kind != AtomKind::app) return true;
  const TensorInfo& t = tensors[atom.ref];
  switch (t.op) {
    case Op::iota:
    case Op::step:
    case Op::floor:
      return true;
    case Op::sum:
    case Op::max:
    case Op::poly:
    case Op::sealed:
      return integer(t.body);
    case Op::leaf:
    case Op::symbol:
    case Op::lambda:
    case Op::exp:
    case Op::log:
    case Op::sigmoid:
    case Op::erf:
    case Op::sin:
    case Op::cos:
      break;
  }
  return t.facts.integer || t.facts.boolean;
}

/// Whether coef * sizes is an integer: directly, or as a multiple of declared ranges.
bool Engine::integral_sizes(Rational coef, const Mono& m, int depth) {
  bool whole = coef.is_integer();
  for (const Factor& f : m) {
    if (!f.exponent.is_integer()) return false;
    whole = whole && f.exponent.sign() > 0;
  }
  if (whole || depth == 0) return whole;
  const auto divides = [&](const Factor& below) {  // what the range divides by
    return below.exponent.sign() < 0 && std::any_of(m.begin(), m.end(), [&](const Factor& f) {
             return f.atom == below.atom && f.exponent.sign() < 0;
           });
  };
  for (Nf range : integral_ranges) {
    if (!is_single(range)) continue;
    tick();
    const Term t = terms(range)[0];
    const Mono& sizes_of_it = factors(t.mono);
    const bool helps = std::gcd(t.coef.den, coef.den) > 1 ||  // a part of the denominator
                       std::any_of(sizes_of_it.begin(), sizes_of_it.end(), divides);
    if (!helps) continue;
    Mono rest = m;
    for (const Factor& f : sizes_of_it) {
      size_t i = 0;
      while (i < rest.size() && rest[i].atom != f.atom) ++i;
      if (i == rest.size()) rest.push_back({f.atom, 0});
      rest[i].exponent = rest[i].exponent - f.exponent;
    }
    std::erase_if(rest, [](const Factor& f) { return f.exponent.is_zero(); });
    if (integral_sizes(coef / t.coef, rest, depth - 1)) return true;
  }
  return false;
}

bool Engine::integer(Nf e) {
  if (const auto known = integer_cache.of(e)) return *known;
  bool result = true;
  for (const Term& t : terms(e)) {
    bool whole = t.coef.is_integer();  // without the declared ranges
    for (const Factor& f : factors(t.mono)) {
      const bool is_whole = f.exponent.is_integer() && f.exponent.sign() > 0;
      if (atoms[f.atom].kind == AtomKind::size)
        whole = whole && is_whole;
      else if (!is_whole || !integer_atom(f.atom))
        result = false;
      if (!result) break;
    }
    if (result && !whole) {
      Mono sizes_here = factors(t.mono);
      std::erase_if(sizes_here,
                    [&](const Factor& f) { return atoms[f.atom].kind != AtomKind::size; });
      result = integral_sizes(t.coef, sizes_here, 3);
    }
    if (!result) break;
  }
  return integer_cache.set(e, result);
}

}  // namespace shardproof::algebra
