// A hash-consed normal form for scalar tensor expressions whose axis sizes are symbols.
//
// An Nf is a real function of index variables (integers in their range), sizes (integers >= 1) and
// leaf tensors. Equal ids => equal functions, for all sizes at once; different ids say nothing.
// Real arithmetic, equality where the model is defined: 1/y, log y and fractional powers are taken
// as defined (see Algebra::obligations). Leaves are total functions of integers: a value outside
// their range is arbitrary, finite and keeps the leaf's facts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "spec/ir/rational.h"

namespace shardproof::algebra {

/// An interned expression of one Algebra; == is equality of normal forms.
struct Nf {
  uint32_t id = 0;
  friend bool operator==(Nf a, Nf b) { return a.id == b.id; }
  friend bool operator!=(Nf a, Nf b) { return a.id != b.id; }
  friend bool operator<(Nf a, Nf b) { return a.id < b.id; }
};

/// An index variable; it stands for every integer 0 <= v < range.
struct Var {
  uint32_t id = 0;
  friend bool operator==(Var a, Var b) { return a.id == b.id; }
  friend bool operator<(Var a, Var b) { return a.id < b.id; }
};

/// A named tensor without a definition.
struct Leaf {
  uint32_t id = 0;
};

/// The tensor  index -> body; body may have further free variables, which are then its parameters.
struct Lambda {
  std::vector<Var> index;
  Nf body;
};

/// Assumed facts about the values of a leaf or an opaque result.
struct LeafFacts {
  bool integer = false;
  bool positive = false;    // > 0
  std::optional<Nf> below;  // 0 <= value < below; only with integer
  bool boolean = false;     // value is 0 or 1
  bool fraction = false;    // 0 <= value < 1
};

/// step(x) = [x > 0]; relu'(0) is therefore 0. sign(0) = 0.
enum class Fn { exp, log, sigmoid, tanh, erf, sin, cos, abs, floor, step, relu, silu, sign };

struct Budget {
  int limit = 1;         // products of polynomials are expanded up to this many terms
  long steps = 2000000;  // rewriting steps before BudgetExceeded; not a clock: reproducible
  long nodes = 1000000;  // interned nodes before BudgetExceeded
};

struct BudgetExceeded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Side conditions that tests switch off, to check that a law notices. Never used outside tests.
enum class Fault {
  none,
  every_atom_positive,   // facts.cpp: sqrt(x^2) = x
  always_in_range,       // delta.cpp: Sum_u [u = e] f(u) = f(e) for any e
  digit_stride,          // digits.cpp: c*k + j merges for any k
  radix_integrality,     // indicator.cpp: the high part of a mixed radix split need not be integral
  radix_range,           // indicator.cpp: ... and the low part need not be below the radix
  step_content,          // step.cpp: step drops content that may be zero
  integer_comparison,    // indicator.cpp: 1 - le0(1-e) for reals
  max_factor,            // max.cpp: moves out factors of any sign
  step_absorption,       // indicator.cpp: x > 1 implies x > 2
  absorption,            // indicator.cpp: of two comparisons one implies the other, for any terms
  telescoping,           // telescope.cpp: any two comparisons telescope
  threshold_range,       // threshold.cpp: every threshold lies inside the range
  given_anywhere,        // given.cpp: F([c]) = F(1), even without the factor [c]
  mirror_end,            // mirror.cpp: Sum_v f(v) = Sum_v f(|v| - v)
  sum_magnitude,         // power.cpp: |u| = u for a sum u of any sign
  sine_square,           // functions.cpp: sin(u)^2 = 1 - cos(u)
  angle_sum,             // angle.cpp: cos(a + b) = cos a cos b + sin a sin b
  angle_multiple,        // angle.cpp: cos(k u) for any k is that of the integer below
  clip_order,            // max.cpp: a clip is the same in either order for any two bounds
  half_sum,              // opposite.cpp: a sum under [e <= 0] is half of the whole sum
  congruence,            // congruent.cpp: two functions of one kind are equal, for any arguments
  shared_sum,            // shared_sum.cpp: a term without the sum is not divided by its size
  covers,                // opposite.cpp: of any two comparisons one holds
  log_of_power,          // functions.cpp: log(x^2) = 2 log(x)
  count_range,           // count.cpp: the number of indices below T is T + 1 for every T
  opposites,             // opposite.cpp: [e <= 0] + [-e <= 0] = 1
  iota_stride,           // affine.cpp: digits as values merge for any strides
  nested_condition,      // indicator.cpp: [F([c]) = 0] = [c] [F(1) = 0], without the other case
  equal_reals,           // polynomial.cpp: [y - x = 0] y is -[y - x = 0] x
  equal_indices,         // polynomial.cpp: [i <= j] iota(i) = [i <= j] iota(j)
  unused_range,          // sum.cpp: an unused variable contributes 1, not its range
  order_factor,          // order.cpp: rows keep their order under factors of any sign
  order_power,           // order.cpp: rows keep their order under even powers
  case_implied,          // cases.cpp: u > 0 implies u + n > 0 for every n
  step_denominator,      // comparison.cpp: step(1 - 1/s) = step(s - 1) for s of any sign
  step_square,           // comparison.cpp: step(x - y) = step(x^2 - y^2) for y of any sign
  at_most_zero,          // indicator.cpp: [e <= 0] = [e = 0] for integers of any sign
  case_of_any_sign,      // facts.cpp: u >= u - k v for any k
  case_product,          // cases.cpp: a product of signed values has the other sign
  sign_of_factor,        // cases.cpp: an even power has the sign of its base
  case_alone,            // cases.cpp: the case u > 0 suffices
  equal_under_order,     // cases.cpp: [i <= 3] x[i] = [i <= 3] x[3]
  condition_holds,       // cases.cpp: the case in which a condition holds suffices
  digits_apart,          // digit_order.cpp: digits of any range are compared one by one
  closed_bound,          // intervals.cpp: x >= n is used as x > n
  nested_floor,          // step.cpp: floor((floor(u) + v) / n) = floor((u + v) / n) for every v
  max_of_power,          // max.cpp: max x^2 = (max x)^2 for x of any sign
  order_sum,             // order.cpp: rows keep their order if any functions are added
  least_index,           // least_index.cpp: k - index is never below 0
  compared_increasing,   // comparison.cpp: step(F(u) - F(v)) = step(u - v) for every F
  interval_end,          // intervals.cpp: log(u) has the bounds of u
  exponential_sign,      // comparison.cpp: e^a + e^b is compared as e^a - e^b
  exponential_factor,    // comparison.cpp: the factors of an exponential have logarithms
  sign_of_power,         // comparison.cpp: x^2 has the sign of x
  sign_of_product,       // comparison.cpp: a product is > 0 only if all of its factors are
  maximum_out_of_range,  // max.cpp: x[v] <= max x for every v
  counted_greatest,      // max.cpp: some entry of x is any value
  maximum_of_two,        // max.cpp: maximum(max x, max y) = max |x| for every y
  log_of_negative,       // functions.cpp: any factor may leave a logarithm as -x
  weight_sign,           // lower/affine.cpp: the powers of any factor have a logarithm
  weight_zero,           // lower/affine.cpp: a weight may be 0 after a step
  shared_unequal,        // lower/shared_values.cpp: values of one shape are shared
  shared_sign,           // lower/shared_values.cpp: every shared value is > 0
  power_modulo,          // step.cpp: x^n = x modulo n for every n
  no_remainder,          // indicator.cpp: v mod m = k for a k of m or more, or below 0, where v = k
  square,                // squares.cpp: a product of two values is a square
  relu_from_any,         // step.cpp: relu(u) = u + [u = -1] for integers of any sign
  extremum_condition,    // indicator.cpp: off + [c] (on - off) is the greater of both for every c
  any_case,              // by_entries.cpp: [p] >= [q] for any p and q
  common_factor,         // by_entries.cpp: a product with a factor >= 0 is >= 0
  one_side,              // compare.cpp: what vanishes below a threshold vanishes
  below_threshold,       // threshold.cpp: any term with a threshold is 0 above it
  zero_sum,              // zero_sum.cpp: where a sum of values of any sign is 0, each of them is
  zero_or_positive,      // zero_sum.cpp: [u = 0] + v > 0 for every v >= 0
  mask_divided,          // polynomial.cpp: [c] [c]^-1 is 1, also where c does not hold
  first_value,           // cases.cpp: what vanishes at the first value of an integer vanishes
  between_offsets,       // opposite.cpp: [v <= w + 1] = [v <= w]
  part_of_a_block,       // blocks.cpp: the last block of an index is a whole one
  one_turn,              // circle.cpp: every index is shifted by at most one turn
  open_circle,           // circle.cpp: an index that is shifted past the end stays there
  times_zero,            // fraction.cpp: a denominator that is 0 is multiplied away
  complement_power,      // polynomial.cpp: (1 - x)^2 = 1 - x for every x
  chosen_by_any,         // choice.cpp: any condition chooses the greater of its two values
  one_choice,            // choice.cpp: |where(c, a, b)| = |a|
  magnitude_anywhere,    // choice.cpp: |u| = u under any condition
  uneven_blocks,         // delta_of_block.cpp: the last block of indices is as long as the others
  other_order,           // permutation.cpp: the inverse of the order of any row
  no_place,              // permutation.cpp: what is not an index has a place in the order
  exchanged_with_one,    // exchanged.cpp: two binders become one
  capture,               // lift.cpp: dependent arguments are not re-opened (only loses proofs)
};

struct Engine;

class Algebra {
 public:
  explicit Algebra(Budget budget = {}, Fault fault = Fault::none);
  ~Algebra();
  Algebra(const Algebra&) = delete;
  Algebra& operator=(const Algebra&) = delete;

  // Constants, sizes, variables, tensors.
  Nf number(Rational value);
  /// The integer symbol |name| >= 1 (axis sizes, mesh axis sizes, group counts).
  Nf size(const std::string& name);
  /// A new index variable. `range` depends on sizes only and is declared to be an integer >= 1 (|V|
  /// |t|^-1, |D|/2).
  Var fresh(Nf range, std::string hint);
  Nf var(Var v);
  Nf range(Var v) const;
  /// The same name and ranges return the same leaf, with the facts of the first call.
  Leaf leaf(const std::string& name, const std::vector<Nf>& ranges, const LeafFacts& facts = {});
  Nf at(Leaf tensor, const std::vector<Nf>& index);
  /// An index used as a value. In indicators and index positions it equals the index; in sums it is
  /// opaque.
  Nf iota(Nf index);
  Nf iota(Nf index, Nf /*range*/) { return iota(index); }
  /// The mask constant: exp(x + minus_infinity) = 0. Only meaningful in a where() inside exp or
  /// max.
  Nf minus_infinity();

  // Arithmetic.
  Nf add(Nf a, Nf b);
  Nf sub(Nf a, Nf b);
  Nf neg(Nf a);
  Nf mul(Nf a, Nf b);
  Nf div(Nf a, Nf b);
  Nf pow(Nf base, Rational exponent);
  /// base^exponent for a symbolic exponent: exp(exponent log base) if base is known to be positive,
  /// else uninterpreted.
  Nf power(Nf base, Nf exponent);
  Nf apply(Fn fn, Nf argument);
  Nf maximum(Nf a, Nf b);
  Nf minimum(Nf a, Nf b);
  Nf floordiv(Nf a, Nf b);
  Nf mod(Nf a, Nf b);

  // Indicators, 0 or 1.
  /// [e = 0]. e is an integer index term, or any real; then only the rules for reals
  /// apply.
  Nf eq0(Nf e);
  /// [e <= 0] for an integer e; calls le0_real if e is not known to be an integer.
  Nf le0(Nf e);
  Nf le0_real(Nf e);
  Nf lt0_real(Nf e);
  /// [0 <= i < range]; declares `range` as fresh() does.
  Nf in_range(Nf index, Nf range);
  /// cond a + (1 - cond) b.
  Nf where(Nf cond01, Nf a, Nf b);

  /// An opaque copy of e: equal terms have equal seals. Only its sign and whether it is an integer
  /// remain known. Leaves and numbers are not sealed.
  Nf seal(Nf e);

  // Binders. The result binds the variables.
  Nf sum(const std::vector<Var>& vars, Nf body);
  Nf max(const std::vector<Var>& vars, Nf body);
  /// An uninterpreted operator on whole tensors, read at `index`: argsort, top_k, scan, cumsum,
  /// normal, uniform.
  Nf opaque(const std::string& op, const std::vector<Lambda>& tensors, const std::vector<Nf>& index,
            const LeafFacts& facts = {});
  /// Shows an uninterpreted operator by this name; one that gets two names has none of them.
  void show_as(const std::string& op, const std::string& name);
  /// Simultaneous substitution. Each term must lie in the range of its variable, or an indicator
  /// must mask the result there.
  Nf substitute(Nf in, const std::vector<std::pair<Var, Nf>>& map);
  /// Renames leaves in all of `in`. A pair is an entry of a leaf, and one of another leaf with the
  /// same ranges and facts. The new names must not occur in `in`.
  std::vector<Nf> rename(const std::vector<Nf>& in, const std::vector<std::pair<Nf, Nf>>& leaves);

  // Assumptions. Declare them before building the terms that use them. Sizes are positive
  // already.
  /// e, a term of sizes, is an integer >= 1: V/t if t divides V, D/2 for an even head, D - h if |D|
  /// > |h|.
  void declare_range(Nf e);
  /// e > 0 for all values of its variables.
  void declare_positive(Nf e);
  /// e > 0, or e >= 0 if not `strict`. Used if e compares every entry of a leaf with a number.
  void declare_bound(Nf e, bool strict);
  /// a -> (tensors at a) is injective: if all of them agree at a and b, then a = b. All tensors
  /// have the same ranges.
  void declare_injective(const std::vector<Leaf>& tensors);

  // Queries.
  bool is_zero(Nf e) const;
  std::optional<Rational> as_number(Nf e) const;
  bool known_positive(Nf e);
  bool known_nonnegative(Nf e);
  bool known_integer(Nf e);
  std::vector<Var> variables(Nf e) const;
  /// Number of monomials.
  size_t length(Nf e) const;
  /// Bases that were inverted, logged or rooted without being known to be positive: {kind, base}.
  struct Obligation {
    enum Kind { nonzero, positive } kind;
    Nf base;
  };
  std::vector<Obligation> obligations() const;
  /// Ranges that are integers >= 1 only because they were declared: the divisibility conditions of
  /// the verdict.
  std::vector<Nf> assumed_ranges() const;

  // Text and statistics.
  std::string show(Nf e);
  /// As much of it as can be read in a line: what lies deep inside is `..`.
  std::string show_short(Nf e);
  long steps() const;
  size_t nodes() const;

  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
};

/// A row with the same order along `over` as x, ties included: removes strictly increasing
/// functions, so tanh(x), 3 x and x + 1 become x.
Nf same_order(Algebra& algebra, const std::vector<Var>& over, Nf x);

/// The maximum of `body` over `over` is `greatest` at the index of the row's maximum, if `body` is
/// where(x = max x, greatest, 0), and `greatest` is never negative and never grows with the index,
/// as k - index where no index is above k. None if it has another form.
struct LeastIndex {
  Nf row, greatest;
};
std::optional<LeastIndex> least_index(Algebra& algebra, const std::vector<Var>& over, Nf index,
                                      Nf body);

enum class Comparison { equal, not_shown };

/// Is plan == model? Tries, at this algebra's limit: identity, common denominators, sigmoid
/// expansion, a common binder, cases. The caller climbs the levels (limit 1, 24, 200) by lowering
/// again into a new Algebra.
Comparison compare(Algebra& algebra, Nf plan, Nf model);

struct Difference {
  enum Kind { factor, missing_summand, extra_summand, operand, index, inside, other };
  Kind kind = other;
  std::string text;       // "equal up to the factor |t|", "missing term G*a", "inside sigmoid: ..."
  Nf factor_value;        // kind == factor: plan = factor_value * model
  std::string plan_part;  // the differing operand or index term, if any
  std::string model_part;
};

/// A normal form has only `<=`: `x < y` is 1 - [y <= x]. How the text writes its inequalities: as
/// `<` and `>` (strict), as `<=` and `>=` (lax), or both.
enum class Inequalities { strict, lax, both };
struct Written {
  Inequalities plan = Inequalities::both, model = Inequalities::both;
};

/// Why plan and model differ. Tries in this order: factor, summand, operand, index, inside a
/// function. None if they are equal. Shows conditions as they are written.
std::optional<Difference> explain(Algebra& algebra, Nf plan, Nf model, Written written = {});

}  // namespace shardproof::algebra
