// Case split on the sign of u: u > 0, u < 0, u = 0. In each case step(u) is a number and sqrt(u^2)
// is u or -u; the rest may vanish. abs(x) = maximum(x, -x); max(x, 0) + log(1 + exp(-|x|)) = log(1
// + exp(x)). Case split on a condition c inside functions: F([c]) is F(1) or F(0).
#include "spec/algebra/cases.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shardproof::algebra {

namespace {

/// The tensors whose bodies contain, at any depth, an atom with the property.
template <class Property>
class Deep {
 public:
  Deep(Engine& g, Property property) : g_(g), property_(property) {}

  bool in(Nf e) {
    if (auto known = seen_.find(e.id); known != seen_.end()) return known->second;
    bool found = false;
    for (const Term& t : g_.terms(e))
      for (const Factor& f : g_.factors(t.mono)) found = found || in_atom(g_.atoms[f.atom]);
    return seen_[e.id] = found;
  }

  bool inside(const Atom& atom) {
    for (Nf arg : atom.args)
      if (in(arg)) return true;
    return atom.kind == AtomKind::app && g_.tensors[atom.ref].op != Op::leaf &&
           in(Nf(g_.tensors[atom.ref].body));
  }

 private:
  bool in_atom(const Atom& atom) { return property_(atom) || inside(atom); }

  Engine& g_;
  Property property_;
  std::unordered_map<uint32_t, bool> seen_;
};

bool can_be_rebuilt(const Engine& g, AtomId id) {
  const Atom& atom = g.atoms[id];
  return atom.kind == AtomKind::app && algebra::can_be_rebuilt(g.tensors[atom.ref].op);
}

Nf opened(Engine& g, AtomId id, const VarSet& avoid, VarSet* binders) {
  const Atom& atom = g.atoms[id];
  return g.open(atom.ref, atom.args, avoid, binders);
}

/// u, if e is u^2 for a single atom u.
std::optional<Nf> side_of_square(Engine& g, Nf e) {
  if (!g.is_single(e)) return std::nullopt;
  const Term t = g.terms(e)[0];
  const Mono& m = g.factors(t.mono);
  if (m.size() != 1 || !t.coef.is_one() || m[0].exponent != Rational(2)) return std::nullopt;
  return g.of_atom(m[0].atom);
}

/// The steps in e whose argument does not depend on an index that e binds; for the root of u^2,
/// step(u). And such conditions inside functions.
class Steps {
 public:
  Steps(Engine& g, Nf e) : g_(g), free_(g.free_of(e)), has_step_(g, IsStep{g}) {
    collect(e, false);
  }

  std::vector<AtomId> found, conditions;

 private:
  struct IsStep {
    bool operator()(const Atom& a) const {
      if (a.kind == AtomKind::eq0 || a.kind == AtomKind::le0) return g.budget.limit > 1;
      if (a.kind != AtomKind::app) return false;
      const TensorInfo& t = g.tensors[a.ref];
      return t.op == Op::step || (t.facts.boolean && g.budget.limit > 1) ||
             (t.op == Op::poly && side_of_square(g, Nf(t.body)).has_value());
    }
    Engine& g;
  };

  void collect(Nf e, bool inside) {
    if (found.size() == 4 || !has_step_.in(e) || !seen_.insert(e.id).second) return;
    g_.tick();
    for (const Term& t : g_.terms(e))
      for (const Factor& f : g_.factors(t.mono)) {
        if (g_.is_op(f.atom, Op::step))
          add(f.atom, found);
        else if (inside && g_.budget.limit > 1 && g_.is_indicator(f.atom) && conditions.size() < 2)
          add(f.atom, conditions);
        if (!can_be_rebuilt(g_, f.atom)) continue;
        const Nf body = opened(g_, f.atom, free_, nullptr);
        const auto side = g_.is_op(f.atom, Op::poly) ? side_of_square(g_, body) : std::nullopt;
        const auto step = side ? g_.single_atom(g_.step(*side)) : std::nullopt;
        if (step && g_.is_op(*step, Op::step)) add(*step, found);
        collect(body, true);
      }
  }

  void add(AtomId one, std::vector<AtomId>& to) {
    const VarSet& vars = g_.atom_vars[one];
    const bool bound =
        std::any_of(vars.begin(), vars.end(), [&](VarId v) { return !contains(free_, v); });
    if (!bound && std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  }

  Engine& g_;
  VarSet free_;
  Deep<IsStep> has_step_;
  std::unordered_set<uint32_t> seen_;
};

struct Fact {
  Nf u;
  int sign;
};

/// Rewrites terms in a case: the last fact gives the sign of u, the earlier facts are the enclosing
/// cases.
class Case {
 public:
  Case(Engine& g, AtomId step, const std::vector<Fact>& facts)
      : g_(g),
        u_(facts.back().u),
        sign_(facts.back().sign),
        square_(g.mul(u_, u_)),
        facts_(with_products(g, facts)),
        speaks_(g, Speaks{g, u_}) {
    known_.push_back({step, sign_ > 0 ? g.one : g.zero});
    for (Nf equal : {g.eq0(u_), g.step(g.scale(u_, -1))})
      if (const auto atom = g.single_atom(equal); atom && *atom != step)
        known_.push_back({*atom, (g_.atoms[*atom].kind == AtomKind::eq0 ? sign_ == 0 : sign_ < 0)
                                     ? g.one
                                     : g.zero});
    if (sign_ == 0) {
      replaced_ = replaceable();
      solve();
    }
  }

  /// The case in which a condition holds, or does not.
  Case(Engine& g, AtomId condition, bool holds)
      : g_(g), u_(g.of_atom(condition)), sign_(1), square_(u_), speaks_(g, Speaks{g, u_}) {
    known_.push_back({condition, holds ? g.one : g.zero});
  }

  /// The case in which two values are equal, as the equation says.
  Case(Engine& g, AtomId equation)
      : g_(g),
        u_(g.atoms[equation].args[0]),
        sign_(0),
        square_(g.mul(u_, u_)),
        facts_(with_products(g, {{u_, 0}})),
        speaks_(g, Speaks{g, u_}) {
    known_.push_back({equation, g.one});
    for (const Term& t : g.terms(u_)) {
      const Mono& m = g.factors(t.mono);
      if (m.size() != 1 || !m[0].exponent.is_one() || g.atoms[m[0].atom].kind != AtomKind::app)
        continue;
      const Nf others = g.sub(u_, g.monomial(t.mono, t.coef));
      known_.push_back({m[0].atom, g.scale(others, Rational(-1) / t.coef)});
      return;
    }
  }

  Nf of(Nf e) {
    if (!speaks_.in(e)) return e;
    if (const auto done = done_.find(e.id); done != done_.end()) return done->second;
    g_.tick(8);
    Nf result = g_.zero;
    for (const Term& t : g_.terms(sign_ == 0 ? less_zero(e) : e)) {
      Nf product = g_.number(t.coef);
      for (const Factor& f : g_.factors(t.mono)) product = g_.mul(product, factor(f));
      result = g_.add(result, product);
    }
    return done_[e.id] = result;
  }

 private:
  /// Finds terms with a leaf of u or, if u is a comparison, with one of its kind: inside a function
  /// its indices have other names. Other terms do not change.
  struct Speaks {
    Speaks(Engine& g, Nf u) : g(g) {
      add(u);
      const auto only = g.single_atom(u);
      if (only && (g.atoms[*only].kind == AtomKind::eq0 || g.atoms[*only].kind == AtomKind::le0))
        comparison = g.atoms[*only].kind;
    }
    void add(Nf e) {
      if (!seen.insert(e.id).second) return;
      for (const Term& t : g.terms(e))
        for (const Factor& f : g.factors(t.mono))
          if (const Atom& a = g.atoms[f.atom]; a.kind == AtomKind::app) add(a);
    }
    void add(const Atom& a) {
      const TensorInfo& tensor = g.tensors[a.ref];
      if (tensor.op == Op::leaf)
        leaves.insert(a.ref);
      else
        add(Nf(tensor.body));
    }
    bool operator()(const Atom& a) const {
      return a.kind == AtomKind::app ? leaves.contains(a.ref) : comparison == a.kind;
    }
    Engine& g;
    std::optional<AtomKind> comparison = {};
    std::unordered_set<TensorId> leaves = {};
    std::unordered_set<uint32_t> seen = {};
  };

  /// The terms of u, those without a known sign first: a value that is replaced loses its sign.
  Poly terms_to_replace() {
    Poly all = g_.terms(u_);
    std::stable_partition(all.begin(), all.end(), [&](const Term& t) {
      const Nf value = g_.monomial(t.mono, 1);
      return !g_.nonnegative(value) && !g_.nonnegative(g_.scale(value, -1));
    });
    return all;
  }

  /// For u = 0: solves for one of its leaves, or for any atom (or its root) that equals a number.
  void solve() {
    for (const Term& t : terms_to_replace()) {
      const Mono& m = g_.factors(t.mono);
      if (m.size() != 1) continue;
      const Atom& atom = g_.atoms[m[0].atom];
      if (atom.kind != AtomKind::app) continue;
      const Nf others = g_.scale(g_.sub(u_, g_.monomial(t.mono, t.coef)), -(Rational(1) / t.coef));
      const auto n = g_.as_number(others);
      const bool root = m[0].exponent == Rational(1, 2) && n && n->sign() >= 0;
      const bool leaf = g_.tensors[atom.ref].op == Op::leaf && !Speaks(g_, others)(atom);
      if (!root && !(m[0].exponent.is_one() && (leaf || n))) continue;
      known_.push_back({m[0].atom, root ? g_.mul(others, others) : others});
      return;
    }
  }

  /// For u = 0: the first product of u that does not occur inside the other terms. For u = x + 1/(1
  /// + exp(x)) it is not x: replacing x in exp(x) would never end.
  std::optional<Term> replaceable() {
    for (const Term& t : terms_to_replace()) {
      const Mono& product = g_.factors(t.mono);
      const Nf others = g_.sub(u_, g_.monomial(t.mono, t.coef));
      const auto outside = [&](const Factor& f) {
        return !stands_inside(others, g_.atoms[f.atom]);
      };
      if (std::any_of(product.begin(), product.end(), outside)) return t;
    }
    return std::nullopt;
  }

  /// Whether the atom occurs, at any depth, in the body or the arguments of an atom of e.
  bool stands_inside(Nf e, const Atom& atom) {
    Deep deep(g_, [&](const Atom& a) { return a.kind == atom.kind && a.ref == atom.ref; });
    for (const Term& t : g_.terms(e))
      for (const Factor& f : g_.factors(t.mono))
        if (deep.inside(g_.atoms[f.atom])) return true;
    return false;
  }

  /// For u = 0: e without that product, e - r u.
  Nf less_zero(Nf e) {
    if (!replaced_) return e;
    for (const Term& s : g_.terms(e))
      if (s.mono == replaced_->mono) return g_.sub(e, g_.scale(u_, s.coef / replaced_->coef));
    return e;
  }

  /// The signs of products of two facts, which have the higher powers, and the facts: 1 - x^2 is
  /// (1 - x) (1 + x).
  static std::vector<Fact> with_products(Engine& g, const std::vector<Fact>& facts) {
    std::vector<Fact> all;
    for (size_t i = 0; i < facts.size(); ++i)
      for (size_t k = i; k < facts.size(); ++k)
        all.push_back({g.mul(facts[i].u, facts[k].u),
                       facts[i].sign * facts[k].sign * (g.fault == Fault::case_product ? -1 : 1)});
    all.insert(all.end(), facts.begin(), facts.end());
    return all;
  }

  /// step(v), if v is a combination of a number and arguments with known signs.
  std::optional<Nf> implied(Nf v) {
    if (follows(v, 1, 0, false)) return g_.one;
    if (follows(v, -1, 0, false)) return g_.zero;
    return std::nullopt;
  }
  /// 1 or -1 if the facts imply it.
  std::optional<int> known_sign(Nf v) {
    v = g_.same_sign(v);
    if (follows(v, 1, 0, false)) return 1;
    return follows(g_.scale(v, -1), 1, 0, false) ? std::optional(-1) : std::nullopt;
  }
  /// The sign of a product, from the signs of its factors: of (e^x - 2) y where x > log(2).
  std::optional<int> sign_of_product(Nf v) {
    const Engine::Content parts = g_.content(v, true);
    if (parts.common.empty() || in_product_) return std::nullopt;
    in_product_ = true;
    const auto sign = sign_of_factors(parts);
    in_product_ = false;
    return sign;
  }
  std::optional<int> sign_of_factors(const Engine::Content& parts) {
    auto sign = known_sign(parts.body);
    for (const Factor& f : parts.common) {
      if (!sign) return std::nullopt;
      if (g_.positive_atom(f.atom)) continue;
      const auto own = f.exponent.is_integer() ? known_sign(g_.base_of(f.atom)) : std::nullopt;
      if (!own) return std::nullopt;
      if (f.exponent.num % 2 != 0 || g_.fault == Fault::sign_of_factor) sign = *sign * *own;
    }
    if (sign && g_.fault == Fault::case_product) sign = -*sign;
    return sign;
  }
  /// Whether the facts from `first` on imply v > 0, or v <= 0 for `sign` -1. `strict`: a nonzero
  /// fact was already used.
  bool follows(Nf v, int sign, size_t first, bool strict) {
    if (const auto of_number = g_.sign_of_number(v)) {
      if (g_.fault == Fault::case_implied && first > 0) return true;
      return *of_number == sign || (*of_number == 0 && (strict || sign < 0));
    }
    if (sign < 0 ? g_.nonnegative(g_.scale(v, -1)) : strict ? g_.nonnegative(v) : g_.positive(v))
      return true;
    for (size_t i = first; i < facts_.size(); ++i)
      for (const Term& t : g_.terms(facts_[i].u)) {
        Rational ratio = 0;
        for (const Term& s : g_.terms(v))
          if (s.mono == t.mono && !g_.factors(t.mono).empty()) ratio = s.coef / t.coef;
        const int share = ratio.sign() * facts_[i].sign;
        if (ratio.is_zero() || share == -sign) continue;
        if (follows(g_.sub(v, g_.scale(facts_[i].u, ratio)), sign, i + 1, strict || share == sign))
          return true;
      }
    return sign_of_product(v) == sign;
  }

  bool not_zero(Nf v) { return follows(v, 1, 0, false) || follows(g_.scale(v, -1), 1, 0, false); }

  /// v, if e is v^2, also for a v of several terms.
  std::optional<Nf> value_squared(Nf e) {
    const auto side = side_of_square(g_, e);
    const auto atom = side ? g_.single_atom(*side) : std::nullopt;
    return atom && g_.is_op(*atom, Op::poly) ? g_.inner(*atom) : side;
  }

  Nf factor(const Factor& f) {
    for (const auto& [atom, value] : known_)
      if (f.atom == atom && f.exponent.sign() > 0) return g_.pow(value, f.exponent);
    if (!can_be_rebuilt(g_, f.atom)) {
      if (g_.atoms[f.atom].kind == AtomKind::eq0 && f.exponent.sign() > 0 &&
          not_zero(g_.atoms[f.atom].args[0]))
        return g_.zero;
      return g_.pow(with_arguments(f.atom), f.exponent);
    }
    VarSet binders;
    VarSet avoid = set_union(g_.free_of(u_), g_.atom_vars[f.atom]);
    const Nf body = opened(g_, f.atom, avoid, &binders);
    if (g_.is_op(f.atom, Op::poly) && body == square_)
      return g_.pow(g_.scale(u_, sign_), f.exponent * Rational(2));
    if (const auto side = g_.is_op(f.atom, Op::poly) ? value_squared(body) : std::nullopt) {
      const Nf value = of(*side);
      for (int sign : {1, -1})
        if (follows(g_.scale(value, sign), 1, 0, false))
          return g_.pow(g_.scale(value, sign), f.exponent * Rational(2));
    }
    const Nf inner = of(body);
    if (g_.is_op(f.atom, Op::step))
      if (const auto value = implied(inner)) return *value;
    if (inner == body) return g_.atom_power(f.atom, f.exponent);
    return g_.pow(g_.rebuild(g_.tensors[g_.atoms[f.atom].ref].op, binders, inner), f.exponent);
  }

  /// The entry of a leaf at what its indices are in this case, a comparison of what is compared.
  Nf with_arguments(AtomId id) {
    const Atom& atom = g_.atoms[id];
    std::vector<Nf> args;
    for (Nf arg : atom.args) args.push_back(of(arg));
    return args == atom.args ? g_.of_atom(id) : g_.with_arguments(id, std::move(args));
  }

  Engine& g_;
  Nf u_;
  int sign_;
  Nf square_;
  const std::vector<Fact> facts_;
  Deep<Speaks> speaks_;
  std::vector<std::pair<AtomId, Nf>> known_;
  std::optional<Term> replaced_;
  bool in_product_ = false;
  std::unordered_map<uint32_t, Nf> done_;
};

bool each(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes, size_t depth,
          const std::vector<Fact>& around) {
  if (g.terms(e).size() > 40) return false;
  const Steps steps(g, e);
  const auto gone = [&](Nf rest, const std::vector<Fact>& facts) {
    return vanishes(rest) || (depth > 1 && each(g, rest, vanishes, depth - 1, facts));
  };
  for (AtomId step : steps.found) {
    bool all = true;
    for (int sign : {1, -1, 0}) {
      if (!all || (g.fault == Fault::case_alone && sign < 1)) break;
      std::vector<Fact> inside = around;
      inside.push_back({g.inner(step), sign});
      all = gone(Case(g, step, inside).of(e), inside);
    }
    if (all) return true;
  }
  for (AtomId condition : steps.conditions)
    if (gone(g.mul(g.of_atom(condition), Case(g, condition, true).of(e)), around) &&
        (g.fault == Fault::condition_holds || gone(Case(g, condition, false).of(e), around)))
      return true;
  return false;
}

}  // namespace

std::optional<Nf> by_equation(Engine& g, Nf e, const VarSet& bound) {
  for (AtomId c : Steps(g, e).conditions) {
    if (g.atoms[c].kind != AtomKind::eq0 || !g.mentions_any(g.atom_vars[c], bound)) continue;
    const Nf holds = g.of_atom(c), there = Case(g, c, true).of(e),
             elsewhere = Case(g, c, false).of(e);
    if (g.fault == Fault::condition_holds) return there;
    return g.add(g.mul(holds, g.sub(there, elsewhere)), elsewhere);
  }
  return std::nullopt;
}

namespace {

bool says_equal(const Engine& g, AtomId condition) {
  const AtomKind kind = g.atoms[condition].kind;
  return kind == AtomKind::eq0 || (kind == AtomKind::le0 && g.fault == Fault::equal_under_order);
}

/// e where the equation holds: with another index for one of those in it, or another value for one
/// that it mentions.
Nf where_equal(Engine& g, AtomId equation, Nf e) {
  for (VarId v : VarSet(g.atom_vars[equation]))
    if (const auto other = g.solved_for(g.atoms[equation].args[0], v))
      return g.substitute(e, {{v, *other}});
  return Case(g, equation).of(e);
}

/// The term with its other factors inside of a sum in it whose terms have equations that bind an
/// index: f(x) Sum_c [row(c) = x] h(c) is Sum_c [row(c) = x] f(row(c)) h(c).
std::optional<Nf> inside_sum_of_equations(Engine& g, const Term& t, const VarSet& avoid) {
  const Mono& m = g.factors(t.mono);
  for (size_t i = 0; i < m.size(); ++i) {
    if (m.size() == 1 || !m[i].exponent.is_one() || !g.is_op(m[i].atom, Op::sum)) continue;
    const Atom& sum = g.atoms[m[i].atom];
    VarSet binders;
    const Nf body = g.open(sum.ref, sum.args, avoid, &binders);
    const auto is_bound = [&](const Factor& f) {
      return g.atoms[f.atom].kind == AtomKind::eq0 && g.mentions_any(g.atom_vars[f.atom], binders);
    };
    const Poly& terms = g.terms(body);
    if (std::all_of(terms.begin(), terms.end(), [&](const Term& each) {
          const Mono& factors = g.factors(each.mono);
          return std::any_of(factors.begin(), factors.end(), is_bound);
        }))
      return g.sum(binders, g.mul(g.fix(without(m, i), t.coef), body));
  }
  return std::nullopt;
}

}  // namespace

Nf under_its_equations(Engine& g, Nf e) {
  constexpr size_t most_terms = 40;
  if (g.terms(e).size() > most_terms) return e;
  Nf result = g.zero;
  for (const Term& t : g.terms(e)) {
    const auto inside = inside_sum_of_equations(g, t, g.free_of(e));
    Nf term = inside ? *inside : g.monomial(t.mono, t.coef);
    for (const Factor& f : g.factors(t.mono))
      if (says_equal(g, f.atom)) term = g.mul(g.of_atom(f.atom), where_equal(g, f.atom, term));
    result = g.add(result, term);
  }
  return result;
}

bool in_each_case(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes) {
  return each(g, e, vanishes, 3, {});
}

namespace {

struct FewValues {
  AtomId atom;
  int64_t first, last;
};

/// An integer in e, also in a place of a tensor, that has at most 8 values.
std::optional<FewValues> integer_of_few_values(Engine& g, Nf e, bool in_places = true) {
  constexpr int64_t most_values = 8;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono)) {
      const Atom& atom = g.atoms[f.atom];
      if (atom.kind != AtomKind::app || g.tensors[atom.ref].op != Op::leaf) continue;
      const Engine::Bounds of = g.bounds_of_atom(f.atom);
      const auto low = of.low ? g.as_number(*of.low) : std::nullopt;
      const auto high = of.high ? g.as_number(*of.high) : std::nullopt;
      if (g.tensors[atom.ref].facts.integer && low && high && *high - *low < Rational(most_values))
        return FewValues{f.atom, low->num, high->num};
      for (Nf place : in_places ? atom.args : std::vector<Nf>{})
        if (const auto found = integer_of_few_values(g, place, false)) return found;
    }
  return std::nullopt;
}

}  // namespace

bool at_each_value(Engine& g, Nf e, const std::function<bool(Nf)>& vanishes) {
  constexpr size_t most_terms = 40;
  if (g.terms(e).size() > most_terms) return false;
  const auto found = integer_of_few_values(g, e);
  if (!found) return false;
  for (int64_t n = found->first; n <= found->last; ++n) {
    const auto equation =
        g.single_atom(g.eq0(g.sub(g.of_atom(found->atom), g.number(Rational(n)))));
    if (!equation || !vanishes(Case(g, *equation).of(e))) return false;
    if (g.fault == Fault::first_value) return true;
  }
  return true;
}

}  // namespace shardproof::algebra
