// [e = 0] and [e <= 0]: scaling, range decisions, the mixed radix split, and absorption in
// products.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

bool Engine::idempotent(AtomId a) const {
  const Atom& atom = atoms[a];
  if (atom.kind == AtomKind::eq0 || atom.kind == AtomKind::le0) return true;
  if (atom.kind != AtomKind::app) return false;
  const TensorInfo& t = tensors[atom.ref];
  return t.op == Op::step || t.facts.boolean;
}

bool Engine::is_indicator(AtomId a) const { return idempotent(a); }

/// Replaces iota(i) by i: inside an indicator or an index position both are the same.
Nf Engine::strip_iota(Nf e) {
  bool any = false;
  for (const Term& t : terms(e))
    for (const Factor& f : factors(t.mono)) any = any || is_op(f.atom, Op::iota);
  if (!any) return e;
  Nf result = zero;
  for (const Term& t : terms(e)) {
    Nf product = number(t.coef);
    for (const Factor& f : factors(t.mono))
      product = mul(product, is_op(f.atom, Op::iota) ? pow(atoms[f.atom].args[0], f.exponent)
                                                     : atom_power(f.atom, f.exponent));
    result = add(result, product);
  }
  return result;
}

namespace {

/// The positive multiple of e in normal form: primitive, then divided by a divisor that follows
/// from declared ranges.
Nf primitive(Engine& g, Nf e) {
  Nf p = g.content(e, false).body;
  if (!g.integer(p)) return p;
  for (bool again = true; again;) {
    again = false;
    for (Nf range : g.integral_ranges) {
      if (!g.is_single(range)) continue;
      const Term t = g.terms(range)[0];
      Mono down;
      for (const Factor& f : g.factors(t.mono))
        if (f.exponent.sign() < 0) down.push_back({f.atom, -1});
      if (down.empty() && t.coef.den == 1) continue;
      Nf smaller = g.mul_mono(p, g.mono(down), Rational(1, t.coef.den));
      if (!g.integer(smaller)) continue;
      p = smaller, again = true;
      break;
    }
  }
  return p;
}

/// Divides integer e by the gcd of its non-constant coefficients; the constant may become a
/// fraction.
Nf reduce_constant(Engine& g, Nf e, Rational* constant) {
  Poly rest;
  *constant = 0;
  int64_t divisor = 0;
  for (const Term& t : g.terms(e)) {
    if (g.factors(t.mono).empty())
      *constant = t.coef;
    else
      rest.push_back(t), divisor = t.coef.is_integer() ? std::gcd(divisor, t.coef.num) : 1;
  }
  if (divisor > 1 && g.integer(g.scale(g.poly(rest), Rational(1, divisor)))) {
    *constant = *constant / divisor;
    return g.scale(g.poly(rest), Rational(1, divisor));
  }
  return g.poly(rest);
}

/// [(v - k) mod m = 0] for e = v - m floor(v / m) - k, with numbers m and k: that v mod m is k. One
/// form for all k in [0, m); others are no remainder. None if e is that form, or another.
std::optional<Nf> of_remainder(Engine& g, Nf e) {
  for (const Term& t : g.terms(e)) {
    const Mono& m = g.factors(t.mono);
    if (m.size() != 1 || !m[0].exponent.is_one() || !g.is_op(m[0].atom, Op::floor)) continue;
    if (!t.coef.is_integer()) return std::nullopt;
    const Nf by = g.number(std::abs(t.coef.num));
    const Nf rest = g.scale(g.sub(e, g.monomial(t.mono, t.coef)), t.coef.sign() > 0 ? -1 : 1);
    const Nf v = g.strip_iota(g.mul(g.inner(m[0].atom), by));
    const auto k = g.as_number(g.sub(v, rest));
    if (!k || k->is_zero() || !g.integer(v)) return std::nullopt;
    const bool remainder = k->sign() > 0 && *k < Rational(std::abs(t.coef.num));
    if (!remainder && g.fault != Fault::no_remainder) return g.zero;
    return g.eq0(g.mod(g.iota(rest), by));  // as the value of an index: what floor(v / m) has
  }
  return std::nullopt;
}

}  // namespace

/// u, if e is a positive power of u times a number: both are 0 alike.
std::optional<Nf> Engine::base_of_power(Nf e) {
  if (!is_single(e)) return std::nullopt;
  const Mono& m = factors(terms(e)[0].mono);
  if (m.size() != 1 || m[0].exponent.sign() < 0) return std::nullopt;
  const Nf base = base_of(m[0].atom);
  return base == e ? std::nullopt : std::optional(base);
}

Nf Engine::eq0(Nf e) { return indicator(AtomKind::eq0, e); }

Nf Engine::le0(Nf e) {
  e = strip_iota(e);
  if (auto n = as_number(e)) return n->sign() <= 0 ? one : zero;
  if (!integer(e) && fault != Fault::integer_comparison) return sub(one, step(e));
  return indicator(AtomKind::le0, e);
}

Nf Engine::indicator(AtomKind kind, Nf e) {
  e = strip_iota(e);
  bool eq = kind == AtomKind::eq0;
  if (auto n = as_number(e)) return (eq ? n->is_zero() : n->sign() <= 0) ? one : zero;
  uint64_t key = static_cast<uint64_t>(e.id) << 1 | (eq ? 1 : 0);
  if (auto it = indicator_cache.find(key); it != indicator_cache.end()) return it->second;
  tick();
  if (const Nf conditions = turns_as_conditions(e); conditions != e)
    return indicator_cache[key] = indicator(kind, conditions);
  if (auto split = by_conditions(kind, e)) return indicator_cache[key] = *split;
  if (const auto base = eq ? base_of_power(e) : std::nullopt)
    return indicator_cache[key] = eq0(*base);
  Nf result;
  Nf p = primitive(*this, e);
  bool whole = integer(p) || (!eq && fault == Fault::integer_comparison);
  if (whole) {
    Rational c;
    Nf rest = reduce_constant(*this, p, &c);
    if (eq && !c.is_integer()) return indicator_cache[key] = zero;
    p = add(rest, number(eq ? c : Rational(c.ceil())));
    if (const auto same = eq ? of_remainder(*this, p) : std::nullopt)
      return indicator_cache[key] = *same;
  }
  const Nf turned = scale(p, -1);
  const auto lowest = [&](Nf u) { return bounds_of(u).low.value_or(Rational(-1)); };
  const auto above_zero = [&](Nf u) { return at_least(u, 1) || lowest(u).sign() > 0; };
  if (above_zero(p) || (eq && above_zero(turned))) {
    result = zero;
  } else if (!eq && (at_least(turned, 0) || lowest(turned).sign() >= 0)) {
    result = one;
  } else if (std::optional<Nf> split; whole && (split = split_radix(kind, p))) {
    result = *split;
  } else if (eq) {
    result = of_atom(atom({kind, 0, {std::min(p, turned)}}));
  } else {
    Rational c;
    reduce_constant(*this, p, &c);
    bool flip = c.sign() > 0;  // [e <= 0] = 1 - [1 - e <= 0] for an integer e
    if (flip) p = sub(one, p);
    // What is never negative is at most 0 where it is 0.
    const bool from_zero = fault == Fault::at_most_zero || at_least(p, 0) || nonnegative(p);
    Nf atom_value = whole && from_zero ? eq0(p) : of_atom(atom({kind, 0, {p}}));
    result = flip ? sub(one, atom_value) : atom_value;
  }
  return indicator_cache[key] = result;
}

/// Whether c chooses the greater of two integers, `on` where it holds; false: the smaller one.
std::optional<bool> Engine::chooses_greater(AtomId c, Nf on, Nf off) {
  if (atoms[c].kind != AtomKind::le0 || !integer(on) || !integer(off)) return std::nullopt;
  const Nf more = sub(on, off), below = atoms[c].args[0];  // c: below <= 0
  const auto by = [&](Nf e) { return e == scale(below, -1) || e == sub(one, below); };
  if (by(more) || fault == Fault::extremum_condition) return true;
  return by(scale(more, -1)) ? std::optional(false) : std::nullopt;
}

/// where([c], on, off) as a maximum or minimum of integers.
std::optional<Nf> Engine::as_extremum(Nf condition, Nf on, Nf off) {
  const auto alone = single_atom(condition), negated = single_atom(sub(one, condition));
  if (!alone && !negated) return std::nullopt;
  if (!alone) std::swap(on, off);
  const auto greater = chooses_greater(alone ? *alone : *negated, on, off);
  if (!greater) return std::nullopt;
  return *greater ? maximum(on, off) : scale(maximum(scale(on, -1), scale(off, -1)), -1);
}

/// [e <= 0] for an e that is `on` where c holds, else `off`: of their maximum or minimum.
std::optional<Nf> Engine::compare_extremum(AtomId c, Nf on, Nf off) {
  const auto greater = chooses_greater(c, on, off);
  if (!greater) return std::nullopt;
  const Nf a = indicator(AtomKind::le0, on), b = indicator(AtomKind::le0, off), both = mul(a, b);
  return *greater ? both : sub(add(a, b), both);
}

/// [F([c]) = 0] = [c] [F(1) = 0] + (1 - [c]) [F(0) = 0], for the first condition in e; the same for
/// <=. Several conditions and nothing else, such as [c] + [d] > 0, stay as they are.
std::optional<Nf> Engine::by_conditions(AtomKind kind, Nf e) {
  std::vector<AtomId> conditions;
  bool alone = true;
  for (const Term& t : terms(e))
    for (const Factor& f : factors(t.mono)) {
      alone = alone && is_indicator(f.atom);
      if (!is_indicator(f.atom) || f.exponent.sign() < 0) continue;
      if (std::find(conditions.begin(), conditions.end(), f.atom) == conditions.end())
        conditions.push_back(f.atom);
    }
  // Each condition can double the size. One alone is decided: [[c] = 0] is 1 - [c].
  if (conditions.empty() || conditions.size() > 4) return std::nullopt;
  if (alone ? conditions.size() > 1 : terms(e).size() < 2) return std::nullopt;
  const AtomId c = conditions[0];
  Nf on = zero, off = zero;
  for (const Term& t : terms(e)) {
    const Mono& m = factors(t.mono);
    size_t i = 0;
    while (i < m.size() && m[i].atom != c) ++i;
    const bool has = i < m.size();
    on = add(on, fix(has ? without(m, i) : Mono(m), t.coef));
    if (!has) off = add(off, monomial(t.mono, t.coef));
  }
  if (kind == AtomKind::le0)
    if (const auto either = compare_extremum(c, on, off)) return either;
  const Nf holds = of_atom(c), there = mul(holds, indicator(kind, on));
  if (fault == Fault::nested_condition) return there;
  return add(there, mul(sub(one, holds), indicator(kind, off)));
}

/// e = low + radix * high with |low| < radix and integer high. e = 0 iff low = 0 and high = 0. e <=
/// 0 iff high <= 0 (low in (-radix, 0]) or high <= -1 (low in [1, radix]).
std::optional<Nf> Engine::split_radix(AtomKind kind, Nf e) {
  const Poly& p = terms(e);
  if (p.size() < 2) return std::nullopt;
  for (const Term& lead : p) {
    Mono sizes_here;
    for (const Factor& f : factors(lead.mono))
      if (atoms[f.atom].kind == AtomKind::size) sizes_here.push_back(f);
    Rational magnitude = lead.coef.sign() < 0 ? -lead.coef : lead.coef;
    if (sizes_here.empty() && magnitude.is_one()) continue;
    Nf radix = monomial(mono(sizes_here), magnitude);
    Nf inverse = pow(radix, -1), high = zero, low = zero;
    for (const Term& t : p) {
      Nf term = monomial(t.mono, t.coef), part = mul(term, inverse);
      bool divides = integer(part);
      if (fault == Fault::radix_integrality && !divides) divides = factors(t.mono).size() > 1;
      if (divides)
        high = add(high, part);
      else
        low = add(low, term);
    }
    if (high == zero || low == zero) continue;
    bool unchecked = fault == Fault::radix_range;
    Nf gap = sub(radix, one);
    if (kind == AtomKind::eq0) {
      if (unchecked || (at_least(sub(gap, low), 0) && at_least(add(gap, low), 0)))
        return mul(eq0(low), eq0(high));
      continue;
    }
    if ((unchecked || at_least(scale(low, -1), 0)) && (unchecked || at_least(add(gap, low), 0)))
      return le0(high);
    if (at_least(low, 1) && at_least(sub(radix, low), 0)) return le0(add(high, one));
  }
  return std::nullopt;
}

/// e with another form of the factors that `value` has one for.
Nf Engine::with_factors(Nf e, const std::function<std::optional<Nf>(const Factor&)>& value) {
  Nf result = zero;
  bool changes = false;
  for (const Term& t : terms(e)) {
    Mono kept;
    Nf product = one;
    for (const Factor& f : factors(t.mono)) {
      if (const auto other = value(f))
        product = mul(product, *other);
      else
        kept.push_back(f);
    }
    changes = changes || product != one;
    result = add(result, product == one ? monomial(t.mono, t.coef)
                                        : mul(product, fix(std::move(kept), t.coef)));
  }
  return changes ? result : e;
}

/// The same for factors that are 0 or 1, and so each of their powers.
Nf Engine::with_indicators(Nf e, const std::function<std::optional<Nf>(AtomId)>& value) {
  return with_factors(
      e, [&](const Factor& f) { return f.exponent.sign() > 0 ? value(f.atom) : std::nullopt; });
}

namespace {

/// Whether [x] = 1 implies [y] = 1 or [y] = 0. For two equations, tests only the latter.
Engine::Pair compare_indicators(Engine& g, const Atom& x, const Atom& y) {
  using enum Engine::Pair;
  if (y.kind == AtomKind::eq0 && x.kind == AtomKind::le0) return unrelated;
  const Nf plus = g.add(x.args[0], y.args[0]), minus = g.sub(x.args[0], y.args[0]);
  const Nf back = g.scale(minus, -1);
  if (g.at_least(plus, 1)) return excludes;
  if (x.kind == AtomKind::le0)
    return g.at_least(minus, 0) || g.fault == Fault::absorption ? implies : unrelated;
  if (g.at_least(back, 1)) return excludes;
  const Nf below = g.scale(plus, -1);  // y - x and y + x: they decide y where x = 0
  if (y.kind == AtomKind::le0)
    return g.at_least(minus, 0) || g.at_least(below, 0) ? implies : unrelated;
  return g.at_least(minus, 1) || g.at_least(below, 1) ? excludes : unrelated;
}

}  // namespace

/// Whether x > 0 implies y > 0 or excludes it, for y = k x + n with a number n; above limit 1 with
/// an n whose terms have one sign.
Engine::Pair Engine::compare_steps(Nf x, Nf y) {
  using enum Pair;
  if (terms(x).size() > 8 || terms(y).size() > 8) return unrelated;
  Rational ratio = 0;
  for (const Term& t : terms(x))
    for (const Term& s : terms(y))
      if (s.mono == t.mono && ratio.is_zero() && !sign_of_number(monomial(t.mono, 1)))
        ratio = s.coef / t.coef;
  if (ratio.is_zero()) return unrelated;
  const Nf rest = sub(y, scale(x, ratio));
  if (fault == Fault::step_absorption) return implies;
  const auto at_least_0 = [&](Nf e) {
    const auto sign = sign_of_number(e);
    return sign ? *sign >= 0 : budget.limit > 1 && nonnegative_terms(e);
  };
  if (ratio.sign() > 0) return at_least_0(rest) ? implies : unrelated;
  return at_least_0(scale(rest, -1)) ? excludes : unrelated;
}

Engine::Pair Engine::relation(AtomId x, AtomId y) {
  const bool of_numbers =
      atom_vars[x].empty() && atom_vars[y].empty();  // of parameters f32[], i32[]
  if (!of_numbers && !mentions_any(atom_vars[x], atom_vars[y])) return Pair::unrelated;
  const uint64_t key = static_cast<uint64_t>(x) << 32 | y;
  if (const auto known = pair_facts.find(key); known != pair_facts.end()) return known->second;
  const bool step = is_op(x, Op::step), other = is_op(y, Op::step);
  if (step || other)
    return pair_facts[key] = step && other ? compare_steps(inner(x), inner(y)) : Pair::unrelated;
  return pair_facts[key] = compare_indicators(*this, atoms[x], atoms[y]);
}

/// Simplifies a product: drops indicators that others imply; returns false if two exclude each
/// other.
bool Engine::absorb(Mono& m) {
  std::vector<size_t> here;
  for (size_t i = 0; i < m.size(); ++i) {
    AtomKind kind = atoms[m[i].atom].kind;
    bool inverted = m[i].exponent.sign() < 0;  // 1/[..] implies nothing
    const bool compares =
        kind == AtomKind::eq0 || kind == AtomKind::le0 || is_op(m[i].atom, Op::step);
    if (!inverted && compares) here.push_back(i);
  }
  if (here.size() < 2) return true;
  std::vector<bool> drop(m.size(), false);
  for (size_t i : here)
    for (size_t j : here) {
      if (i == j || drop[i] || drop[j]) continue;
      const Pair pair = relation(m[i].atom, m[j].atom);
      if (pair == Pair::excludes) return false;
      drop[j] = pair == Pair::implies;
    }
  Mono kept;
  for (size_t i = 0; i < m.size(); ++i)
    if (!drop[i]) kept.push_back(m[i]);
  m = kept;
  return true;
}

}  // namespace shardproof::algebra
