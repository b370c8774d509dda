// Sums of squares that were multiplied out, so that their terms no longer show a sign: (a + b)^2,
// or the double sum that (sum of a)^2 is. These signs hold for all values of all leaves and
// variables. They use nothing that is declared, and so they stay where a variable is replaced.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The sign of a factor where it is defined: > 0 (true), >= 0 (false), or not known.
std::optional<bool> Engine::sign_of(const Factor& f) {
  const Atom& atom = atoms[f.atom];
  if (atom.kind == AtomKind::size || atom.kind == AtomKind::prime) return true;
  if (atom.kind == AtomKind::app) {
    const TensorInfo& t = tensors[atom.ref];
    if (t.op == Op::exp || t.op == Op::sigmoid) return true;
    const bool is_sum = t.op == Op::sum;
    if (is_sum || t.op == Op::poly || t.op == Op::sealed)
      if (const auto sign = sign_of(Nf(t.body))) return *sign && !is_sum;
  }
  const bool is_even = f.exponent.is_integer() && f.exponent.num % 2 == 0;
  if (is_even || (is_indicator(f.atom) && f.exponent.sign() > 0)) return false;
  return std::nullopt;
}

std::optional<bool> Engine::sign_of(Nf e) {
  if (const auto found = squares.find(e.id); found != squares.end()) return found->second;
  if (const auto found = sign_cache.find(e.id); found != sign_cache.end()) return found->second;
  std::optional<bool> sign;
  bool positive = false, known = e != zero;
  for (const Term& t : terms(e)) {
    known = known && t.coef.sign() > 0;
    bool each = true;
    for (const Factor& f : factors(t.mono)) {
      if (!known) break;
      const auto own = sign_of(f);
      known = own.has_value(), each = each && own.value_or(false);
    }
    if (!known) break;
    positive = positive || each;
  }
  if (known) sign = positive;
  sign_cache.emplace(e.id, sign);
  return sign;
}

void Engine::note_square(Nf e, bool positive) {
  if (e == zero) return;
  const auto [found, fresh] = squares.emplace(e.id, positive);
  if (!fresh && (found->second || !positive)) return;
  found->second = positive;
  nonnegative_cache.forget(e), positive_cache.forget(e);
}

void Engine::note_product(Nf a, Nf b, Nf product) {
  if ((a == b || fault == Fault::square) && !is_single(product)) note_square(product, false);
  if (!squares.contains(a.id) && !squares.contains(b.id)) return;
  const auto one_side = sign_of(a), other = sign_of(b);
  if (one_side && other) note_square(product, *one_side && *other);
}

void Engine::note_sum(Nf a, Nf b, Nf sum) {
  if (!squares.contains(a.id) && !squares.contains(b.id)) return;
  const auto one_side = sign_of(a), other = sign_of(b);
  if (one_side && other) note_square(sum, *one_side || *other);
}

/// `other` has the sign of e.
void Engine::note_same_sign(Nf e, Nf other) {
  if (const auto found = squares.find(e.id); found != squares.end())
    note_square(other, bool(found->second));
}

/// No sum is known to be > 0: a condition may exclude all of its terms.
void Engine::note_bound_sum(Nf body, Nf sum) {
  if (sign_of(body) && !sign_of(sum)) note_square(sum, false);
}

}  // namespace shardproof::algebra
