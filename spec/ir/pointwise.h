#pragma once
// The pointwise functions and their properties: spec/ir/pointwise.def.
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace shardproof::ir {

enum class UnaryFn {
#define SHARDPROOF_UNARY(id, ...) id,
#include "spec/ir/pointwise.def"
};
enum class BinaryFn {
#define SHARDPROOF_BINARY(id, ...) id,
#include "spec/ir/pointwise.def"
};

inline constexpr auto unary_fns = std::to_array<UnaryFn>({
#define SHARDPROOF_UNARY(id, ...) UnaryFn::id,
#include "spec/ir/pointwise.def"
});
inline constexpr auto binary_fns = std::to_array<BinaryFn>({
#define SHARDPROOF_BINARY(id, ...) BinaryFn::id,
#include "spec/ir/pointwise.def"
});

/// The dtypes of the operands. signed_numbers: floats and i32. all_but_keys: numbers and bools.
enum class Takes { numbers, signed_numbers, reals, integers, booleans, all_but_keys };
/// The precedence of an operator, loosest first. call: a name with arguments.
enum class Binds { disjunctions, conjunctions, comparisons, sums, products, call };

/// The domain of a function of x, as a condition on the sign of x - least.
struct Domain {
  enum Kind { everywhere, root, inverse_root, logarithm } kind = everywhere;
  int least = 0;
};

/// Monotonicity. rises, falls: strictly, on its domain. steps: nondecreasing, with ties. turns:
/// none of these.
enum class Growth { rises, falls, steps, turns };

const char* name_of(UnaryFn fn);  ///< as written: "exp", "-", "not"
const char* name_of(BinaryFn fn);
std::optional<UnaryFn> unary_named(std::string_view name);
std::optional<BinaryFn> binary_named(std::string_view name);

Takes takes(UnaryFn fn);
Takes takes(BinaryFn fn);
Binds binds(UnaryFn fn);  ///< call for all but - and not
Binds binds(BinaryFn fn);
Domain domain(UnaryFn fn);
Growth growth(UnaryFn fn);
bool gives_truth(UnaryFn fn);  ///< the result is a bool
bool gives_truth(BinaryFn fn);
bool is_strict(UnaryFn fn);  ///< undefined where an operand is
bool is_strict(BinaryFn fn);
bool has_gradient(UnaryFn fn);
bool has_gradient(BinaryFn fn);
inline bool is_comparison(BinaryFn fn) { return binds(fn) == Binds::comparisons; }

/// The value in double; bools are 0 and 1.
double value(UnaryFn fn, double x);
double value(BinaryFn fn, double a, double b);

/// The shortest decimal that reads back as this double: a literal of the notation.
std::string digits(double value);

/// Arithmetic of the notation over T, in which gradients are written. T is constructible from a
/// number and has `unary(fn, x)`, `binary(fn, a, b)` and `choice(c, a, b)`.
template <class T>
struct Notation {
  friend T operator-(const T& x) { return T::unary(UnaryFn::neg, x); }
  friend T operator+(const T& a, const T& b) { return T::binary(BinaryFn::add, a, b); }
  friend T operator-(const T& a, const T& b) { return T::binary(BinaryFn::sub, a, b); }
  friend T operator*(const T& a, const T& b) { return T::binary(BinaryFn::mul, a, b); }
  friend T operator/(const T& a, const T& b) { return T::binary(BinaryFn::div, a, b); }
  friend T operator<(const T& a, const T& b) { return T::binary(BinaryFn::lt, a, b); }
  friend T operator>(const T& a, const T& b) { return T::binary(BinaryFn::gt, a, b); }
  friend T where(const T& c, const T& a, const T& b) { return T::choice(c, a, b); }
#define SHARDPROOF_UNARY(id, ...) \
  friend T id(const T& x) { return T::unary(UnaryFn::id, x); }
#define SHARDPROOF_BINARY(id, ...) \
  friend T id(const T& a, const T& b) { return T::binary(BinaryFn::id, a, b); }
#include "spec/ir/pointwise.def"
};

/// The gradient of x for y = fn(x), where g is the gradient of y. fn must have one.
template <class T>
T pulled([[maybe_unused]] UnaryFn fn, [[maybe_unused]] const T& g, [[maybe_unused]] const T& x,
         [[maybe_unused]] const T& y) {
  [[maybe_unused]] const T none(0);
  switch (fn) {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, real, \
                         whole, block, exact, algebra, pull)                                      \
  case UnaryFn::id:                                                                               \
    return pull;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of one operand");
}

/// The gradient of operand 0 (a) or 1 (b) for y = fn(a, b), where g is the gradient of y.
template <class T>
T pulled(BinaryFn fn, size_t operand, [[maybe_unused]] const T& g, [[maybe_unused]] const T& a,
         [[maybe_unused]] const T& b, [[maybe_unused]] const T& y) {
  [[maybe_unused]] const T none(0);
  switch (fn) {
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, real, \
                          whole, exact, algebra, pull_a, pull_b)                             \
  case BinaryFn::id:                                                                         \
    return operand == 0 ? T(pull_a) : T(pull_b);
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of two operands");
}

}  // namespace shardproof::ir
