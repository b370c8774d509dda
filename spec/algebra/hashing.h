// Hashes and structural equality of interned values.
#pragma once

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

inline uint64_t hash_rational(Rational r) {
  return mix(static_cast<uint64_t>(r.num), static_cast<uint64_t>(r.den));
}
inline uint64_t hash_value(const Atom& a) {
  uint64_t h = mix(static_cast<uint64_t>(a.kind) + 11, a.ref);
  for (Nf arg : a.args) h = mix(h, arg.id);
  return h;
}
inline bool same(const Atom& a, const Atom& b) {
  return a.kind == b.kind && a.ref == b.ref && a.args == b.args;
}
inline uint64_t hash_value(const Mono& m) {
  uint64_t h = 7;
  for (const Factor& f : m) h = mix(mix(h, f.atom), hash_rational(f.exponent));
  return h;
}
inline bool same(const Mono& a, const Mono& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].atom != b[i].atom || a[i].exponent != b[i].exponent) return false;
  return true;
}
inline uint64_t hash_value(const Poly& p) {
  uint64_t h = 13;
  for (const Term& t : p) h = mix(mix(h, t.mono), hash_rational(t.coef));
  return h;
}
inline bool same(const Poly& a, const Poly& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].mono != b[i].mono || a[i].coef != b[i].coef) return false;
  return true;
}
inline uint64_t hash_value(const Map& m) {
  uint64_t h = 17;
  for (const auto& [v, e] : m) h = mix(mix(h, v), e.id);
  return h;
}
inline bool same(const Map& a, const Map& b) { return a == b; }

}  // namespace shardproof::algebra
