// The order of a row: strictly increasing functions of its entries do not change it.
#include <algorithm>
#include <map>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {
namespace {

/// Whether the function is strictly increasing, from the table of pointwise functions. Sigmoid,
/// which replaces tanh here, has no row there.
bool rises(std::string_view name) {
  enum { rises, falls, steps, turns };
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, ...) \
  if (name == text) return (grows) == rises;
#include "spec/ir/pointwise.def"
  return name == "sigmoid";
}

struct Row;
Nf ordered_by(Row& row, Nf x, int rounds);

struct Row {
  Engine& g;
  VarSet over;

  bool varies(const VarSet& free) const { return g.mentions_any(free, over); }

  /// e times the denominators > 0 that all entries share.
  Nf without_denominators(Nf e) {
    std::map<AtomId, Rational> least;
    for (const Term& t : g.terms(e))
      for (const Factor& f : g.factors(t.mono))
        if (f.exponent.sign() < 0 && !varies(g.atom_vars[f.atom]) &&
            (g.positive_atom(f.atom) || g.fault == Fault::order_factor))
          if (Rational& known = least[f.atom]; f.exponent < known) known = f.exponent;
    for (const auto& [atom, exponent] : least) e = g.mul(e, g.atom_power(atom, -exponent));
    return e;
  }

  /// Removes terms, and factors > 0, that all entries share.
  Nf without_common(Nf e) {
    Poly kept;
    for (const Term& t : g.terms(e))
      if (varies(g.mono_vars[t.mono])) kept.push_back(t);
    if (kept.empty()) return g.zero;
    const Engine::Content content =
        g.content(without_denominators(g.poly(kept)), g.fault == Fault::order_factor);
    Mono own;
    for (const Factor& f : content.common)
      if (varies(g.atom_vars[f.atom])) own.push_back(f);
    return without_primes(g.mul(content.body, g.fix(own, 1)));
  }
  /// sqrt(2) x becomes x: content() does not remove primes.
  Nf without_primes(Nf e) {
    if (!g.is_single(e)) return e;
    const Term t = g.terms(e)[0];
    Mono own = g.factors(t.mono);
    std::erase_if(own, [&](const Factor& f) { return g.atoms[f.atom].kind == AtomKind::prime; });
    return g.fix(own, t.coef.sign());
  }

  /// u, if e is F(u) or -F(u) for an F that is strictly increasing where it is defined.
  std::optional<Nf> inside(Nf e) {
    if (!g.is_single(e)) return std::nullopt;
    const Term t = g.terms(e)[0];
    const Mono& factors = g.factors(t.mono);
    const Rational sign = t.coef.sign();
    const auto is_positive = [&](const Factor& f) { return g.positive_atom(f.atom); };
    const bool never_negative = g.never_negative(factors.at(0).atom);
    if (factors.size() > 1) {
      Rational of_product = 1;
      for (const Factor& f : factors) {
        if (is_positive(f)) continue;
        if (!f.exponent.is_integer() || !g.negative_where_defined(f.atom)) return std::nullopt;
        if (f.exponent.num % 2 != 0) of_product = -of_product;
      }
      return g.scale(g.log(g.monomial(t.mono, of_product)), sign * of_product);
    }
    const auto base = base_of(factors.at(0), is_positive(factors[0]), never_negative);
    return base ? std::optional(g.scale(*base, sign)) : std::nullopt;
  }

  /// u, if e is a sum of several terms that all have the order of u: x + exp(x).
  std::optional<Nf> common_order(Nf e, int rounds) {
    constexpr size_t most_terms = 6;
    const Poly& all = g.terms(e);
    if (all.size() < 2 || all.size() > most_terms) return std::nullopt;
    std::optional<Nf> order;
    for (const Term& t : all) {
      const Nf own = ordered_by(*this, g.monomial(t.mono, t.coef), rounds);
      if (order && *order != own && g.fault != Fault::order_sum) return std::nullopt;
      order = own;
    }
    return order;
  }

 private:
  /// An integer power is increasing if it is odd and > 0, if it is > 0 and the base is >= 0, or if
  /// the base is > 0. If it is < 0, odd powers > 0 and even ones < 0 are. Any other power is
  /// defined only for bases >= 0.
  std::optional<Nf> base_of(const Factor& f, bool positive, bool never_negative) {
    const bool whole = f.exponent.is_integer(), inverse = f.exponent.sign() < 0;
    const bool even = whole && f.exponent.num % 2 == 0 && g.fault != Fault::order_power;
    const bool negative = whole && !positive && g.negative_where_defined(f.atom);
    if (whole && !positive && !negative && (inverse || (even && !never_negative)))
      return std::nullopt;
    const bool falls = negative && even ? !inverse : inverse;
    const std::optional<Nf> argument = increasing(f.atom);
    if (!argument && f.exponent.is_one()) return std::nullopt;
    return g.scale(argument ? *argument : g.of_atom(f.atom), falls ? -1 : 1);
  }
  /// u, if the atom is F(u) and F is strictly increasing.
  std::optional<Nf> increasing(AtomId id) {
    const Atom& atom = g.atoms[id];
    if (atom.kind != AtomKind::app) return std::nullopt;
    const TensorInfo& tensor = g.tensors[atom.ref];
    if (tensor.op == Op::symbol)
      return atom.args.size() == 1 && tensor.ranges.empty() && rises(tensor.name)
                 ? std::optional(atom.args[0])
                 : std::nullopt;
    if (tensor.op != Op::poly && !rises(name_of(tensor.op))) return std::nullopt;
    return g.inner(id);
  }
};

/// The term without common terms and factors, and without increasing functions around it.
Nf ordered_by(Row& row, Nf x, int rounds) {
  while (rounds-- > 0) {
    x = row.without_common(x);
    auto inside = row.inside(x);
    if (!inside) inside = row.common_order(x, rounds / 2);
    if (!inside) break;
    x = *inside;
  }
  return x;
}

}  // namespace

Nf same_order(Algebra& algebra, const std::vector<Var>& over, Nf x) {
  constexpr int most = 24;
  Row row{algebra.engine(), {}};
  for (Var v : over) row.over.push_back(v.id);
  std::sort(row.over.begin(), row.over.end());
  return ordered_by(row, x, most);
}

}  // namespace shardproof::algebra
