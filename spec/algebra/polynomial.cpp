// Sums and products of monomials: merging, distribution within the limit, and the normal form of
// one product.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

Nf Engine::number(Rational value) {
  return value.is_one() ? one : monomial(terms(one)[0].mono, value);
}

Nf Engine::size(const std::string& name) {
  auto [it, fresh] = size_ids.try_emplace(name, static_cast<uint32_t>(sizes.size()));
  if (fresh) sizes.push_back(name);
  return of_atom(atom({AtomKind::size, it->second, {}}));
}

/// A variable of range 1 is 0.
Nf Engine::var(VarId v) {
  VarInfo& info = vars[v];
  if (!info.term) info.term = info.range == one ? zero : of_atom(atom({AtomKind::var, v, {}}));
  return *info.term;
}

namespace {

bool by_mono(const Term& a, const Term& b) { return a.mono < b.mono; }

}  // namespace

Nf Engine::add_all(Poly p) {
  if (!std::is_sorted(p.begin(), p.end(), by_mono)) std::sort(p.begin(), p.end(), by_mono);
  return collected(p);
}

/// Adds the coefficients of equal monomials.
Nf Engine::collected(Poly& p) {
  auto end = p.begin();  // of the sum so far, which takes the place of the terms
  for (const Term& t : p) {
    if (end != p.begin() && end[-1].mono == t.mono) {
      end[-1].coef = end[-1].coef + t.coef;
    } else {
      if (end != p.begin() && end[-1].coef.is_zero()) --end;
      *end++ = t;
    }
  }
  if (end != p.begin() && end[-1].coef.is_zero()) --end;
  tick(static_cast<long>(p.size()));
  return poly({p.begin(), end});
}

Nf Engine::add(Nf a, Nf b) {
  if (a == zero) return b;
  if (b == zero) return a;
  const Poly &x = terms(a), &y = terms(b);
  summands.resize(x.size() + y.size());
  std::merge(x.begin(), x.end(), y.begin(), y.end(), summands.begin(), by_mono);
  const Nf sum = collected(summands);
  note_sum(a, b, sum);
  return sum;
}

Nf Engine::scale(Nf a, Rational by) {
  if (by.is_one()) return a;
  if (by.is_zero()) return zero;
  summands = terms(a);
  for (Term& t : summands) t.coef = t.coef * by;
  const Nf scaled = poly(summands);
  if (by.sign() > 0) note_same_sign(a, scaled);
  return scaled;
}

std::optional<Rational> Engine::as_number(Nf e) const {
  if (e == zero) return Rational(0);
  const Poly& p = terms(e);
  if (p.size() == 1 && factors(p[0].mono).empty()) return p[0].coef;
  return std::nullopt;
}

std::optional<AtomId> Engine::single_atom(Nf e) const {
  if (!is_single(e)) return std::nullopt;
  const Term& t = terms(e)[0];
  const Mono& m = factors(t.mono);
  if (m.size() != 1 || !t.coef.is_one() || !m[0].exponent.is_one()) return std::nullopt;
  return m[0].atom;
}

namespace {

/// Not sorted yet.
Mono product(const Mono& a, const Mono& b) {
  Mono all;
  all.reserve(a.size() + b.size());
  all.insert(all.end(), a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

/// a * coef * m, distributed at any length.
Nf Engine::mul_mono(Nf a, MonoId m, Rational coef) {
  if (factors(m).empty()) return scale(a, coef);
  return sum_of_terms(
      a, [&](const Term& t) { return fix(product(factors(t.mono), factors(m)), t.coef * coef); });
}

namespace {

/// Whether all factors are indicators and there are few terms: such masks are distributed, so that
/// absorption can simplify them.
bool is_mask(const Engine& g, Nf e) {
  if (g.terms(e).size() > 8) return false;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono))
      if (!g.is_indicator(f.atom)) return false;
  return true;
}

/// A polynomial of variables and sizes: an index term or a range.
bool is_index(const Engine& g, Nf e) {
  if (g.terms(e).size() > 12) return false;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono)) {
      AtomKind kind = g.atoms[f.atom].kind;
      if (kind != AtomKind::size && kind != AtomKind::var) return false;
    }
  return true;
}

}  // namespace

Nf Engine::mul(Nf a, Nf b) {
  if (a == zero || b == zero) return zero;
  if (a == one) return b;
  if (b == one) return a;
  if (b < a) std::swap(a, b);
  std::optional<Nf>& known = products(a.id, b.id);
  if (known) return *known;
  size_t la = terms(a).size(), lb = terms(b).size();
  bool distribute = la == 1 || lb == 1 || static_cast<long>(la * lb) <= budget.limit ||
                    is_mask(*this, a) || is_mask(*this, b) ||
                    (is_index(*this, a) && is_index(*this, b));
  Nf result;
  if (la > 1 && lb > 1 && (is_zero_fraction(a) || is_zero_fraction(b))) {
    result = zero;
  } else if (distribute) {
    if (lb > la) std::swap(a, b);
    result = sum_of_terms(b, [&](const Term& t) { return mul_mono(a, t.mono, t.coef); });
  } else {
    const Term ta = terms(cut(a))[0], tb = terms(cut(b))[0];
    result = fix(product(factors(ta.mono), factors(tb.mono)), ta.coef * tb.coef);
  }
  note_product(a, b, result);
  return *(known = result);
}

namespace {

void merge(Mono& m) {
  std::sort(m.begin(), m.end(), [](const Factor& a, const Factor& b) { return a.atom < b.atom; });
  auto end = m.begin();
  for (const Factor& f : m) {
    if (end != m.begin() && end[-1].atom == f.atom)
      end[-1].exponent = end[-1].exponent + f.exponent;
    else
      *end++ = f;
  }
  m.erase(end, m.end());
  std::erase_if(m, [](const Factor& f) { return f.exponent.is_zero(); });
}

/// p^e with e outside [0,1): the integer part goes to the coefficient.
void reduce_primes(const Engine& g, Mono& m, Rational& coef) {
  for (Factor& f : m) {
    if (g.atoms[f.atom].kind != AtomKind::prime) continue;
    int64_t whole = f.exponent.floor();
    coef = coef * power_of(Rational(static_cast<int64_t>(g.atoms[f.atom].ref)), whole);
    f.exponent = f.exponent - Rational(whole);
  }
  std::erase_if(m, [](const Factor& f) { return f.exponent.is_zero(); });
}

/// [u = 0] u^k = 0 for k > 0, and what is 0 with a sum u.
bool vanishes(Engine& g, const Mono& m) {
  for (const Factor& f : m) {
    if (g.atoms[f.atom].kind != AtomKind::eq0 || f.exponent.sign() < 0) continue;
    Nf u = g.atoms[f.atom].args[0];
    if (!g.is_single(u) || g.factors(g.terms(u)[0].mono).size() != 1) continue;
    const AtomId zero = g.factors(g.terms(u)[0].mono)[0].atom;
    for (const Factor& h : m)
      if (h.exponent.sign() > 0 && (h.atom == zero || g.zero_with(zero, h.atom))) return true;
  }
  return false;
}

/// The positions of two exp atoms with the same free variables; {0,0} if there are none.
std::pair<size_t, size_t> mergeable_exps(const Engine& g, const Mono& m) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (!g.is_op(m[i].atom, Op::exp)) continue;
    for (size_t j = i + 1; j < m.size(); ++j)
      if (g.is_op(m[j].atom, Op::exp) && g.atom_vars[m[i].atom] == g.atom_vars[m[j].atom])
        return {i, j};
  }
  return {0, 0};
}

/// Divides `m` by the product e of exp atoms; false if their exponents in m are too small.
bool divide(Engine& g, Nf e, Mono& m) {
  if (!g.is_single(e) || !g.terms(e)[0].coef.is_one()) return false;
  for (const Factor& f : g.factors(g.terms(e)[0].mono)) {
    size_t i = 0;
    while (i < m.size() && m[i].atom != f.atom) ++i;
    if (i == m.size() || !g.is_op(f.atom, Op::exp)) return false;
    if (m[i].exponent / f.exponent < Rational(1)) return false;
    m[i].exponent = m[i].exponent - f.exponent;
  }
  return true;
}

/// m / divisor, if the quotient has no negative exponent.
std::optional<Mono> quotient(const Mono& m, const Mono& divisor) {
  Mono rest = m;
  for (const Factor& f : divisor) {
    const auto hit =
        std::find_if(rest.begin(), rest.end(), [&](const Factor& g) { return g.atom == f.atom; });
    if (hit == rest.end() || hit->exponent < f.exponent) return std::nullopt;
    hit->exponent = hit->exponent - f.exponent;
  }
  return rest;
}

/// The leading monomial: highest degree, then youngest atoms, an order that multiplication
/// preserves. Null if an exponent is no positive integer.
const Term* leading(const Engine& g, Nf u) {
  using Key = std::pair<Rational, std::vector<std::pair<AtomId, Rational>>>;
  const Term* best = nullptr;
  Key greatest;
  for (const Term& t : g.terms(u)) {
    Key key{0, {}};
    for (const Factor& f : g.factors(t.mono)) {
      if (!f.exponent.is_integer() || f.exponent.sign() < 0) return nullptr;
      key.first = key.first + f.exponent;
      key.second.insert(key.second.begin(), {f.atom, f.exponent});
    }
    if (!best || greatest < key) best = &t, greatest = key;
  }
  return best;
}

/// An index is a number of its own kind: as a value it is iota(i).
bool mentions_index(const Engine& g, Nf u) {
  for (const Term& t : g.terms(u))
    for (const Factor& f : g.factors(t.mono))
      if (g.atoms[f.atom].kind == AtomKind::var) return true;
  return false;
}

}  // namespace

/// [i - e = 0] iota(i) = [i - e = 0] iota(e) for a variable i and an e of older ones.
std::optional<Nf> Engine::replace_index(const Mono& m, Rational coef, Nf apart) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (!is_op(m[i].atom, Op::iota) || m[i].exponent.sign() < 0) continue;
    const Nf index = atoms[m[i].atom].args[0];
    const auto atom = single_atom(index);
    if (!atom || atoms[*atom].kind != AtomKind::var) continue;
    for (const Nf other : {add(index, apart), sub(index, apart)}) {
      const VarSet& vars = free_of(other);  // sorted
      if (vars.empty() || vars.back() < atoms[*atom].ref)
        return mul(pow(iota(other), m[i].exponent), fix(without(m, i), coef));
    }
  }
  return std::nullopt;
}

/// [y - x = 0] y = [y - x = 0] x for values: replaces the leading monomial of the difference by the
/// others. They are smaller, so this terminates. None if nothing was replaced.
std::optional<Nf> Engine::replace_equal(const Mono& m, Rational coef) {
  for (const Factor& condition : m) {
    const AtomKind kind = atoms[condition.atom].kind;
    const bool compares = kind == AtomKind::le0 && fault == Fault::equal_indices;
    if (kind != AtomKind::eq0 && !compares) continue;
    const Nf u = atoms[condition.atom].args[0];
    if (integer(u))
      if (const auto one_index = replace_index(m, coef, u)) return one_index;
    if (is_single(u) || mentions_index(*this, u) || compares) continue;
    const Term* lead = leading(*this, u);
    if (!lead) continue;
    const Rational times = Rational(fault == Fault::equal_reals ? 1 : -1) / lead->coef;
    auto rest = quotient(m, factors(lead->mono));
    if (!rest) continue;
    const Nf others = sub(u, monomial(lead->mono, lead->coef));
    return mul(scale(others, times), fix(std::move(*rest), coef));
  }
  return std::nullopt;
}

/// exp(-u) sigmoid(u) = 1 - sigmoid(u), and exp(u) (1 - sigmoid(u)) = sigmoid(u) for a cut 1 -
/// sigmoid(u): the derivative of a sigmoid is one of its powers. Null where neither occurs.
std::optional<Nf> Engine::fold_sigmoid(const Mono& m, Rational coef) {
  if (std::none_of(m.begin(), m.end(), [&](const Factor& f) { return is_op(f.atom, Op::exp); }))
    return std::nullopt;
  for (size_t i = 0; i < m.size(); ++i) {
    if (m[i].exponent < Rational(1)) continue;
    const auto of = sigmoid_of(m[i].atom);
    if (!of) continue;
    Mono rest = m;
    rest[i].exponent = rest[i].exponent - Rational(1);
    if (divide(*this, exp(of->exponent), rest)) return mul(fix(rest, coef), of->complement);
  }
  return std::nullopt;
}

/// The atom s, if it is sigmoid(u), or cut 1 - sigmoid(u) = sigmoid(-u): what exp(exponent) s is.
std::optional<Engine::Sigmoid> Engine::sigmoid_of(AtomId a) {
  if (is_op(a, Op::sigmoid)) return Sigmoid{scale(inner(a), -1), sub(one, of_atom(a))};
  if (!is_op(a, Op::poly)) return std::nullopt;
  const Poly& p = terms(sub(one, inner(a)));
  if (p.size() != 1 || !p[0].coef.is_one() || factors(p[0].mono).size() != 1) return std::nullopt;
  const Factor f = factors(p[0].mono)[0];
  if (!f.exponent.is_one() || !is_op(f.atom, Op::sigmoid)) return std::nullopt;
  return Sigmoid{inner(f.atom), of_atom(f.atom)};
}

namespace {

/// Whether the atom is 1 - [..].
bool is_complement(const Engine& g, AtomId a) {
  if (!g.is_op(a, Op::poly)) return false;
  size_t ones = 0, conditions = 0;
  for (const Term& t : g.terms(g.tensors[g.atoms[a].ref].body)) {
    const Mono& m = g.factors(t.mono);
    ones += m.empty() && t.coef.is_one();
    conditions += m.size() == 1 && t.coef == Rational(-1) && m[0].exponent.is_one() &&
                  (g.idempotent(m[0].atom) || g.fault == Fault::complement_power);
  }
  return ones == 1 && conditions == 1 && g.terms(g.tensors[g.atoms[a].ref].body).size() == 2;
}

/// For each condition that is a factor and in the denominator too, what is missing for its power 1
/// once both are one factor: [c] [c]^-1 is [c], as it masks what has no value where c does not
/// hold.
Mono divided_by_themselves(const Engine& g, const Mono& m) {
  Mono missing;
  if (std::none_of(m.begin(), m.end(), [](const Factor& f) { return f.exponent.sign() < 0; }))
    return missing;
  for (const Factor& above : m) {
    if (above.exponent.sign() < 0 || !(g.idempotent(above.atom) || is_complement(g, above.atom)))
      continue;
    Rational sum = 0;
    bool below = false, known = false;
    for (const Factor& f : m)
      if (f.atom == above.atom) sum = sum + f.exponent, below = below || f.exponent.sign() < 0;
    for (const Factor& f : missing) known = known || f.atom == above.atom;
    if (below && !known && g.fault != Fault::mask_divided)
      missing.push_back({above.atom, Rational(1) - sum});
  }
  return missing;
}

}  // namespace

Nf Engine::fix(Mono m, Rational coef) {
  constexpr int most_nested = 600;
  const Deeper deeper(fix_depth, most_nested);
  tick(static_cast<long>(m.size()));
  if (coef.is_zero()) return zero;
  const bool of_indices = std::all_of(m.begin(), m.end(), [&](const Factor& f) {
    return atoms[f.atom].kind == AtomKind::size || atoms[f.atom].kind == AtomKind::var;
  });
  const Mono masks = of_indices ? Mono{} : divided_by_themselves(*this, m);
  merge(m);
  if (of_indices) return monomial(mono(m), coef);  // no rule below is about sizes and variables
  for (const Factor& f : masks) m.push_back(f);
  if (!masks.empty()) merge(m);
  for (Factor& f : m)
    if (f.exponent.sign() > 0 && (idempotent(f.atom) || is_complement(*this, f.atom)))
      f.exponent = 1;
  reduce_primes(*this, m, coef);
  if (vanishes(*this, m)) return zero;
  if (auto met = meet_opposites(m, coef)) return *met;
  if (!absorb(m)) return zero;
  if (auto folded = fold_sigmoid(m, coef)) return *folded;
  if (auto folded = fold_sine(m, coef)) return *folded;
  if (auto known = without_magnitude(m, coef)) return *known;
  if (auto known = given(m, coef)) return *known;
  if (auto replaced = replace_equal(m, coef)) return *replaced;
  if (auto [i, j] = mergeable_exps(*this, m); j != 0) {
    Nf u = add(scale(inner(m[i].atom), m[i].exponent), scale(inner(m[j].atom), m[j].exponent));
    Nf merged = exp(u);
    return mul(fix(without(without(m, j), i), coef), merged);
  }
  // Poly atoms are expanded while the product is short, and always when there is only one.
  long length = 1, count = 0;
  const auto expands = [&](const Factor& f) {
    return is_op(f.atom, Op::poly) && f.exponent.is_integer() && f.exponent.sign() > 0;
  };
  for (const Factor& f : m) {
    if (!expands(f)) continue;
    long body = static_cast<long>(terms(tensors[atoms[f.atom].ref].body).size());
    for (int64_t i = 0; i < f.exponent.num && length <= 100000; ++i) length *= body;
    count += static_cast<long>(f.exponent.num);
  }
  if (count == 0 || (count > 1 && length > budget.limit)) return monomial(mono(m), coef);
  Mono rest = m;
  std::erase_if(rest, expands);
  Nf result = fix(std::move(rest), coef);
  for (const Factor& f : m) {
    if (!expands(f)) continue;
    Nf body = inner(f.atom);
    for (int64_t i = 0; i < f.exponent.num; ++i)
      result = sum_of_terms(result, [&](const Term& t) { return mul_mono(body, t.mono, t.coef); });
  }
  return result;
}

}  // namespace shardproof::algebra
