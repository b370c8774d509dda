#pragma once
// The scalar Dual: a double and its derivatives along several directions. What runs on it computes
// J v by the chain rule, op by op. The derivatives of pointwise functions are those of
// spec/ir/pointwise.def; nothing else is shared with the gradients that are text or algebra.
#include <array>

#include "spec/denote/run.h"

namespace shardproof::denote {

/// A number and its tangent along each of a few directions. Comparisons see the number alone.
struct Dual {
  static constexpr size_t directions = 16;
  using Tangent = std::array<double, directions>;
  double value = 0;
  Tangent tangent{};

  Dual(int64_t number = 0) : value(static_cast<double>(number)) {}
  static Dual of(double value, const Tangent& tangent = {});
  bool operator==(const Dual& other) const { return value == other.value; }
  friend Dual operator+(const Dual& a, const Dual& b);
  friend Dual operator-(const Dual& a, const Dual& b);
  friend Dual operator*(const Dual& a, const Dual& b);
  friend Dual operator/(const Dual& a, const Dual& b);
};

/// Whole numbers, random numbers, keys and comparisons have no tangent. The derivative of abs at 0
/// is 0; those of max and min follow the entry that is taken.
template <>
struct Scalar<Dual> {
  static Dual number(const std::string&, double value) { return Dual::of(value); }
  static int64_t integer(const Dual& x) { return Scalar<double>::integer(x.value); }
  static Dual apply(ir::UnaryFn fn, const Dual& x);
  static Dual apply(ir::BinaryFn fn, const Dual& a, const Dual& b);
  static bool less(const Dual& a, const Dual& b) { return a.value < b.value; }
  static Dual truncated(const Dual& x) { return constant(Scalar<double>::truncated(x.value)); }
  static Dual draw(ir::RandomFn fn, const Dual& key, int64_t index);
  static Dual fold(const Dual& key, const std::string* tag, const Dual& n);
  static Dual constant(double value) { return Dual::of(value); }
  static Dual stopped(const Dual& x) { return constant(x.value); }
};

extern template std::vector<Distributed<Dual>> run(const Geometry&, const ir::Op&,
                                                   const std::vector<Held<Dual>>&,
                                                   const std::vector<const Type*>&,
                                                   std::optional<Meeting>&);
extern template std::vector<Distributed<Dual>> run(const Geometry&, const ir::Op&,
                                                   const std::vector<Held<Dual>>&,
                                                   const std::vector<Type>&);

}  // namespace shardproof::denote
