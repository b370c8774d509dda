// Maxima over indices: moves out constant terms, flattens nested maxima, merges digits as sums do.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// The tensors of a term in order of declaration: an order that does not depend on variable names.
std::vector<uint32_t> tensors_of(const Engine& g, Nf e) {
  std::vector<uint32_t> found;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono))
      if (g.atoms[f.atom].kind == AtomKind::app) found.push_back(g.atoms[f.atom].ref);
  std::sort(found.begin(), found.end());
  return found;
}

constexpr size_t most_flattened = 8;

bool is_increasing(Op op) {
  return op == Op::exp || op == Op::sigmoid || op == Op::log || op == Op::erf || op == Op::floor;
}

}  // namespace

/// max(a, b) = b + relu(a - b); the sign choice of relu makes it symmetric. For associativity,
/// sorts the operands of nested maxima.
Nf Engine::maximum(Nf a, Nf b) {
  if (const auto other = clip(a, b)) return *other;
  if (const auto other = clip(b, a)) return *other;
  std::vector<Nf> all;
  for (Nf e : {a, b}) {
    const auto known = maxima.find(e.id);
    if (known == maxima.end())
      all.push_back(e);
    else
      all.insert(all.end(), known->second.begin(), known->second.end());
  }
  if (all.size() > most_flattened) all = {a, b};
  if (all.size() > 2) {
    std::sort(all.begin(), all.end(), [&](Nf x, Nf y) {
      return std::pair(tensors_of(*this, x), x.id) < std::pair(tensors_of(*this, y), y.id);
    });
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  if (all.size() == 2)
    if (const auto magnitude = greatest_magnitude(all[0], all[1])) return *magnitude;
  Nf result = all[0];
  for (size_t i = 1; i < all.size(); ++i) result = add(all[i], relu(sub(result, all[i])));
  if (std::find(all.begin(), all.end(), result) == all.end()) maxima[result.id] = all;
  return result;
}

/// minimum(maximum(u, low), high) for maximum(minimum(u, high), low), where low <= high: of the two
/// orders the one whose u, in a maximum, begins with a positive coefficient.
std::optional<Nf> Engine::clip(Nf inside, Nf low) {
  const auto known = maxima.find(scale(inside, -1).id);
  if (budget.limit <= 1 || !as_number(low) || known == maxima.end() || known->second.size() != 2)
    return std::nullopt;
  Nf turned = known->second[0], bound = known->second[1];
  if (as_number(turned)) std::swap(turned, bound);
  const auto end = as_number(bound);
  if (!end || as_number(turned) || terms(turned)[0].coef.sign() > 0) return std::nullopt;
  if (-*end < *as_number(low) && fault != Fault::clip_order) return std::nullopt;
  return scale(maximum(bound, scale(maximum(scale(turned, -1), low), -1)), -1);
}

/// Whether a sum counts the entries that are the maximum over its indices: at least one is.
bool Engine::counts_greatest(AtomId sum) {
  const Atom& atom = atoms[sum];
  const auto condition = [&](Nf e) {
    const auto found = single_atom(e);
    return found && atoms[*found].kind == AtomKind::eq0 ? found : std::nullopt;
  };
  if (!condition(tensors[atom.ref].body)) return false;
  VarSet binders;
  const VarSet& avoid = free_of(of_atom(sum));
  const auto opened = condition(open(atom.ref, atom.args, avoid, &binders));
  if (!opened) return false;
  const Nf apart = atoms[*opened].args[0];
  const Poly& both = terms(apart);
  return std::any_of(both.begin(), both.end(), [&](const Term& t) {
    const Nf greatest = monomial(t.mono, 1);
    const auto maximum = single_atom(greatest);
    const bool sealed = maximum && is_op(*maximum, Op::sealed);
    if (!maximum || !(sealed || is_op(*maximum, Op::max))) return false;
    const Nf entry = sub(greatest, scale(apart, Rational(1) / t.coef));
    return max(binders, entry) == (sealed ? inner(*maximum) : greatest) ||
           fault == Fault::counted_greatest;
  });
}

/// maximum(max x, max -x) = max |x|.
std::optional<Nf> Engine::greatest_magnitude(Nf a, Nf b) {
  const auto one_max = single_atom(a), other = single_atom(b);
  if (!one_max || !other || !is_op(*one_max, Op::max) || !is_op(*other, Op::max))
    return std::nullopt;
  VarSet binders;
  const Atom& atom = atoms[*one_max];
  const Nf body = open(atom.ref, atom.args, set_union(free_of(a), free_of(b)), &binders);
  if (max(binders, scale(body, -1)) != b && fault != Fault::maximum_of_two) return std::nullopt;
  return max(binders, apply(Fn::abs, body));
}

namespace {

std::vector<AtomId> entries_in(const Engine& g, Nf e) {
  std::vector<AtomId> found;
  for (const Term& t : g.terms(e))
    for (const Factor& f : g.factors(t.mono))
      if (g.atoms[f.atom].kind == AtomKind::app) found.push_back(f.atom);
  return found;
}

/// The indices in range at which `own` is `entry`: both are entries of one tensor, and the binders
/// are arguments of `own`. Not all binders need occur.
std::optional<Map> indices(Engine& g, const VarSet& binders, AtomId own, AtomId entry) {
  if (g.atoms[own].ref != g.atoms[entry].ref) return std::nullopt;
  Map found;
  for (size_t i = 0; i < g.atoms[own].args.size(); ++i)
    for (VarId v : binders) {
      if (Nf(g.atoms[own].args[i]) != g.var(v)) continue;
      const Nf at = g.atoms[entry].args[i];
      const bool in_range =
          g.at_least(at, 0) && g.at_least(g.sub(g.sub(g.vars[v].range, at), g.one), 0);
      if (!in_range && g.fault != Fault::maximum_out_of_range) return std::nullopt;
      found.push_back({v, at});
    }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

/// Whether `entry` is one of the values of which this is the maximum.
bool Engine::is_entry_of(AtomId maximum, Nf entry) {
  VarSet binders;
  const Atom& atom = atoms[maximum];
  const Nf body = open(atom.ref, atom.args, free_of(entry), &binders);
  for (AtomId own : entries_in(*this, body))
    for (AtomId other : entries_in(*this, entry))
      if (const auto at = indices(*this, binders, own, other);
          at && at->size() == binders.size() && substitute(body, *at) == entry)
        return true;
  // An entry on the diagonal, as sum_d x[n, d] y[n, d], is made anew: it is no entry of a tensor.
  if (binders.size() != 1) return false;
  for (VarId v : free_of(entry))
    if (vars[v].range == vars[binders[0]].range &&
        substitute(body, {{binders[0], var(v)}}) == entry)
      return true;
  return false;
}

/// Whether u is k (max x - x[i]) with k > 0 and i in range: it is never negative.
bool Engine::below_maximum(Nf u) {
  constexpr size_t most_terms = 8;
  if (is_single(u) || terms(u).size() > most_terms) return false;
  for (const Term& t : terms(u)) {
    const Mono& m = factors(t.mono);
    if (m.size() != 1 || !m[0].exponent.is_one() || t.coef.sign() < 0) continue;
    if (!is_op(m[0].atom, Op::max)) continue;
    const Nf entry = scale(sub(monomial(t.mono, t.coef), u), Rational(1) / t.coef);
    if (is_entry_of(m[0].atom, entry)) return true;
  }
  return false;
}

/// max F(u) = F(max u) for a function F that never decreases; max -F(u) = -F(-max -u). A power
/// is one if it is odd, or if its base is never negative.
std::optional<Nf> Engine::max_of_function(const VarSet& bound, Nf body) {
  if (!is_single(body)) return std::nullopt;
  const Term t = terms(body)[0];
  const Mono& m = factors(t.mono);
  if (m.size() != 1) return std::nullopt;
  Rational exponent = m[0].exponent;
  const TensorInfo* function = derived(m[0].atom);
  if (!function) return std::nullopt;
  const Op op = function->op;
  const bool has_sign = t.coef.sign() < 0;
  const auto greatest = [&](Nf u, bool falls) {
    return has_sign != falls ? scale(max(bound, scale(u, -1)), -1) : max(bound, u);
  };
  if (op == Op::exp) return scale(exp(greatest(scale(inner(m[0].atom), exponent), false)), t.coef);
  if (exponent.is_one() && is_increasing(op)) {
    const Nf u = greatest(inner(m[0].atom), false);
    return scale(rebuild(op, {}, u), t.coef);
  }
  if (exponent.is_one()) return std::nullopt;
  const bool odd = exponent.is_integer() && exponent.num % 2 != 0 && exponent.sign() > 0;
  if (!odd && exponent.is_integer() && fault != Fault::max_of_power &&
      !(exponent.sign() > 0 ? never_negative(m[0].atom) : positive_atom(m[0].atom)))
    return std::nullopt;
  const Nf base = op == Op::poly ? inner(m[0].atom) : of_atom(m[0].atom);
  return scale(pow(greatest(base, exponent.sign() < 0), exponent), t.coef);
}

Nf Engine::max(VarSet bound, Nf body) {
  std::sort(bound.begin(), bound.end());
  VarSet used;
  for (VarId v : bound)
    if (mentions(body, v)) used.push_back(v);
  bound = used;
  if (bound.empty()) return body;
  tick(4);
  if (const auto several = maxima.find(body.id); several != maxima.end()) {
    const std::vector<Nf> operands = several->second;
    Nf greatest = max(bound, operands.front());
    for (size_t i = 1; i < operands.size(); ++i)
      greatest = maximum(greatest, max(bound, operands[i]));
    return greatest;
  }
  Nf fixed = zero, moving = zero;  // max_v (a(v) + b) = b + max_v a(v)
  for (const Term& t : terms(body)) {
    Nf term = monomial(t.mono, t.coef);
    bool infinite = false;  // -inf is no real number: it stays with the mask that guards it
    for (const Factor& f : factors(t.mono)) infinite = infinite || f.atom == minus_infinity();
    if (infinite || mentions_any(mono_vars[t.mono], bound))
      moving = add(moving, term);
    else
      fixed = add(fixed, term);
  }
  Content c = content(moving, fault == Fault::max_factor);  // only positive factors may leave
  Mono outside, inside;
  for (const Factor& f : c.common)
    (mentions_any(atom_vars[f.atom], bound) ? inside : outside).push_back(f);
  Nf rest = mul(c.body, fix(inside, 1)), factor = fix(outside, c.coef);
  if (is_single(rest)) {  // a factor that may be 0: both sides are 0 then
    Mono shared, own;
    const Term t = terms(rest)[0];
    for (const Factor& f : factors(t.mono))
      (!mentions_any(atom_vars[f.atom], bound) && never_negative(f.atom) ? shared : own)
          .push_back(f);
    rest = fix(own, t.coef), factor = mul(factor, fix(shared, 1));
  }
  if (is_single(rest) && terms(rest)[0].coef.is_one()) {
    const Mono& m = factors(terms(rest)[0].mono);
    if (m.size() == 1 && m[0].exponent.is_one() && is_op(m[0].atom, Op::max)) {
      VarSet binders;
      VarSet avoid = set_union(free_of(rest), bound);
      Nf opened = open(atoms[m[0].atom].ref, atoms[m[0].atom].args, avoid, &binders);
      bound.insert(bound.end(), binders.begin(), binders.end());
      return add(fixed, mul(factor, max(bound, opened)));
    }
  }
  if (const auto outer = max_of_function(bound, rest)) return add(fixed, mul(factor, *outer));
  if (merge_digits(bound, rest)) return add(fixed, mul(factor, max(bound, rest)));
  return add(fixed, mul(factor, lift(Op::max, bound, rest)));
}

}  // namespace shardproof::algebra
