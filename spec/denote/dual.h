#pragma once
// The scalar Dual: a double and its derivatives along several directions (forward mode). Evaluates
// J v by the chain rule, op by op. Takes derivatives of pointwise functions from
// spec/ir/pointwise.def; shares nothing else with the derived backward or the algebra.
#include <array>

#include "spec/denote/run.h"

namespace shardproof::denote {

/// A number and its tangent along a few directions. Comparisons use the number only.
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

/// Integers, random numbers, keys and comparisons have tangent 0. The derivative of abs at 0 is 0;
/// that of max and min is the selected entry's.
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
                                                   const ResultTypes&, Nests&);
extern template std::vector<Distributed<Dual>> run(const Geometry&, const ir::Op&,
                                                   const std::vector<Held<Dual>>&,
                                                   const std::vector<Type>&);

}  // namespace shardproof::denote
