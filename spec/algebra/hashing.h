// Hashes and structural equality of interned values.
#pragma once

#include <algorithm>
#include <span>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

inline uint64_t hash_rational(Rational r) {
  return mix(static_cast<uint64_t>(r.num), static_cast<uint64_t>(r.den));
}

/// Cheaper than mix, for tables: no result depends on their order.
inline uint64_t hashed(uint64_t before, uint64_t next) {
  const uint64_t x = (before ^ next) * 0x9e3779b97f4a7c15ull;
  return x ^ (x >> 32);
}
inline uint64_t hashed(uint64_t before, uint64_t next, Rational number) {
  const auto num = static_cast<uint64_t>(number.num), den = static_cast<uint64_t>(number.den);
  return hashed(before, next ^ (num << 32) ^ (den << 52));
}
inline uint64_t hash_value(const Atom& a) {
  uint64_t h = hashed(static_cast<uint64_t>(a.kind) + 11, a.ref);
  for (Nf arg : a.args) h = hashed(h, arg.id);
  return h;
}
inline bool same(const Atom& a, const Atom& b) {
  return a.kind == b.kind && a.ref == b.ref && a.args == b.args;
}
inline uint64_t hash_value(std::span<const Factor> m) {
  uint64_t h = 7;
  for (const Factor& f : m) h = hashed(h, f.atom, f.exponent);
  return h;
}
inline uint64_t hash_value(std::span<const Term> p) {
  uint64_t h = 13;
  for (const Term& t : p) h = hashed(h, t.mono, t.coef);
  return h;
}
inline uint64_t hash_value(const Map& m) {
  uint64_t h = 17;
  for (const auto& [v, e] : m) h = hashed(hashed(h, v), e.id);
  return h;
}
inline bool operator==(const Factor& a, const Factor& b) {
  return a.atom == b.atom && a.exponent == b.exponent;
}
inline bool operator==(const Term& a, const Term& b) {
  return a.mono == b.mono && a.coef == b.coef;
}
template <typename T>
bool same(const std::vector<T>& a, std::span<const T> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
inline bool same(const Map& a, const Map& b) { return a == b; }

}  // namespace shardproof::algebra
