// The tables and rule families of Algebra; each rule family is one .cpp file.
//
// There are no nested binders: every bound sum or max and every argument of a nonlinear function is
// a derived tensor, interned by (function, parameter ranges, binder ranges, body), and occurs as an
// atom D[args] like a leaf.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "spec/algebra/algebra.h"
#include "spec/algebra/interner.h"

namespace shardproof::algebra {

using AtomId = uint32_t;
using MonoId = uint32_t;
using TensorId = uint32_t;
using VarId = uint32_t;
using VarSet = std::vector<VarId>;  // sorted

/// The kind of a tensor. `symbol` is an uninterpreted operator, `lambda` a tensor that is passed to
/// one, `sealed` an opaque term.
enum class Op : uint8_t {
  leaf,
  iota,
  symbol,
  lambda,
  sum,
  max,
  poly,
  sealed,
  exp,
  log,
  sigmoid,
  erf,
  sin,
  cos,
  floor,
  step
};

/// The printed name; empty if it has none.
const char* name_of(Op op);

/// Whether a tensor of this kind has no body.
inline bool is_leaf(Op op) { return op == Op::leaf || op == Op::symbol || op == Op::iota; }

/// Whether `Engine::rebuild` can make one again from its body.
inline bool can_be_rebuilt(Op op) { return !is_leaf(op) && op != Op::lambda && op != Op::sealed; }

enum class AtomKind : uint8_t { size, prime, var, app, eq0, le0 };

struct Atom {
  AtomKind kind = AtomKind::size;
  uint32_t ref = 0;      // size symbol, prime, variable or tensor
  std::vector<Nf> args;  // app: index terms; eq0, le0: the term
};

struct Factor {
  AtomId atom;
  Rational exponent;
};
using Mono = std::vector<Factor>;  // sorted by atom, exponents != 0

struct Term {
  MonoId mono;
  Rational coef;
};
using Poly = std::vector<Term>;  // sorted by mono, coefficients != 0

/// A variable. User variables are free; params and binders are slots of derived tensors; scratch
/// variables replace these while a tensor is open.
struct VarInfo {
  enum Kind : uint8_t { free, param, binder, scratch } kind = free;
  uint32_t slot = 0;
  Nf range;
  std::string hint;
  std::optional<Nf> term = {};  ///< the variable as a term, once that was asked for
};

struct TensorInfo {
  Op op = Op::leaf;
  std::string name;                               // leaf, symbol
  std::vector<Nf> ranges;                         // of leaves and parameters
  std::vector<Nf> binders;                        // ranges
  std::vector<std::string> hints;                 // of the binders, for people
  Nf body;                                        // derived
  LeafFacts facts;                                // leaf, symbol
  std::vector<std::vector<uint32_t>> symmetries;  // argument orders that give the same function
};

/// One more level of a recursion. Throws BudgetExceeded beyond `most`, for which the stack has
/// room.
class Deeper {
 public:
  Deeper(int& depth, int most) : depth_(depth) {
    if (depth >= most) throw BudgetExceeded("algebra: terms are nested too deep");
    ++depth_;
  }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --depth_; }

 private:
  int& depth_;
};

using Map = std::vector<std::pair<VarId, Nf>>;  // sorted by variable

/// Results by the numbers that they depend on.
using Key = std::vector<uint64_t>;
struct HashOfKey {
  size_t operator()(const Key& key) const {
    size_t h = 0;
    for (uint64_t x : key) h = mix(h, x);
    return h;
  }
};
using Known = std::unordered_map<Key, Nf, HashOfKey>;

/// The answers to a question about terms, as far as they are known.
class Answers {
 public:
  std::optional<bool> of(Nf e) const {
    const char answer = e.id < by_id_.size() ? by_id_[e.id] : unknown;
    return answer == unknown ? std::nullopt : std::optional(answer == yes);
  }
  bool set(Nf e, bool answer) {
    if (e.id >= by_id_.size()) by_id_.resize(e.id + 1, unknown);
    by_id_[e.id] = answer ? yes : no;
    return answer;
  }
  void forget(Nf e) {
    if (e.id < by_id_.size()) by_id_[e.id] = unknown;
  }
  void clear() { by_id_.clear(); }

 private:
  static constexpr char unknown = 0, no = 1, yes = 2;
  std::vector<char> by_id_;
};

/// The bounds of a value that are known; `above`: it is not `low`.
struct Interval {
  std::optional<Rational> low, high;
  bool above = false, below = false;
};

/// Sets of variables, by id of a term. Terms of the same variables share one.
struct VarSets {
  std::vector<const VarSet*> sets;
  const VarSet& operator[](uint32_t id) const { return *sets[id]; }
};

struct Engine {
  Engine(Budget budget, Fault fault);

  // Tables. intern.cpp
  Interner<Atom> atoms;
  Interner<Mono> monos;
  Interner<Poly> polys;
  VarSets atom_vars, mono_vars, poly_vars;  // free variables, by id
  Stable<VarSet> var_sets;
  Stable<VarInfo> vars;
  Stable<TensorInfo> tensors;
  std::map<std::string, std::string> shown_as;       // scans, by name: what the file calls them
  bool writes_tanh = false, writes_sigmoid = false;  // tanh(u) is 2 sigmoid(2 u) - 1 here
  std::vector<std::string> sizes;
  std::unordered_map<std::string, uint32_t> size_ids;
  std::unordered_map<std::string, TensorId> tensor_ids;
  std::unordered_map<Key, TensorId, HashOfKey> derived_ids;
  std::map<std::tuple<int, uint32_t, uint32_t>, VarId> slots;
  Budget budget;
  Fault fault;
  long steps = 0;
  Nf zero, one;

  void tick(long n = 1);
  AtomId atom(const Atom& a);
  MonoId mono(std::span<const Factor> m);
  MonoId mono(Factor only) { return mono({&only, 1}); }
  Nf poly(std::span<const Term> p);
  Nf poly(Term only) { return poly({&only, 1}); }
  const Poly& terms(Nf e) const { return polys[e.id]; }
  const Mono& factors(MonoId m) const { return monos[m]; }
  const VarSet& free_of(Nf e) const { return poly_vars[e.id]; }
  /// The union, which is one of them if it has all variables of the other.
  const VarSet* united(const VarSet* a, const VarSet* b);
  bool mentions(Nf e, VarId v) const;
  bool mentions_any(const VarSet& have, const VarSet& wanted) const;
  VarId slot(VarInfo::Kind kind, uint32_t index, Nf range);
  VarId scratch(Nf range, const VarSet& avoid);
  TensorId tensor(TensorInfo t, const std::string& key);  // without a body
  Nf monomial(MonoId m, Rational coef);
  Nf atom_power(AtomId a, Rational exponent);  // a single factor, not normalised
  Nf of_atom(AtomId a) { return atom_power(a, 1); }

  // polynomial.cpp
  Nf number(Rational value);
  Nf size(const std::string& name);
  Nf var(VarId v);
  Nf add(Nf a, Nf b);
  Nf add_all(Poly terms);
  Nf collected(Poly& sorted);
  Poly summands;  // of the sum that is being made, not interned yet
  /// The sum of `form` of each term of e.
  template <typename Form>
  Nf sum_of_terms(Nf e, Form form) {
    const Poly& p = terms(e);
    if (p.size() == 1) {  // it is in normal form already
      const Nf only = form(p[0]);
      tick(static_cast<long>(terms(only).size()));
      return only;
    }
    Poly all;
    for (const Term& t : p) {
      const Poly& more = terms(form(t));
      all.insert(all.end(), more.begin(), more.end());
    }
    return add_all(std::move(all));
  }
  Nf scale(Nf a, Rational by);
  Nf sub(Nf a, Nf b) { return add(a, scale(b, -1)); }
  Nf mul(Nf a, Nf b);
  Nf mul_mono(Nf a, MonoId m, Rational coef);
  Nf fix(Mono factors, Rational coef);  // product of factors, in normal form
  struct Sigmoid {
    Nf exponent, complement;
  };
  std::optional<Sigmoid> sigmoid_of(AtomId a);
  std::optional<Nf> fold_sigmoid(const Mono& m, Rational coef);
  std::optional<Nf> replace_equal(const Mono& m, Rational coef);
  std::optional<Nf> replace_index(const Mono& m, Rational coef, Nf apart);
  std::optional<Rational> as_number(Nf e) const;
  bool is_single(Nf e) const { return terms(e).size() == 1; }
  /// The atom, if e is one atom to the power of 1.
  std::optional<AtomId> single_atom(Nf e) const;
  ByPair<Nf> products;

  // power.cpp
  struct Content {
    Rational coef = 1;
    Mono common;
    Nf body;
  };
  Nf pow(Nf base, Rational exponent);
  Nf pow_single(Nf base, Rational exponent);
  std::optional<Nf> magnitude_of_sum(AtomId a);
  bool is_inverse(Nf base) const;
  Nf pow_poly(Nf base, Rational exponent);
  /// base = coef * common * body with coef > 0. common: sizes and atoms known to be positive, or
  /// any atoms if `any`.
  Content content(Nf base, bool any);
  Nf cut(Nf e);  // e as one monomial: content times its poly atom
  /// value^exponent for value > 0, as powers of primes.
  std::optional<Nf> root(Rational value, Rational exponent);
  Known pow_cache;
  // Only the public interface adds obligations: a rewritten or substituted term needs nothing that
  // the term did not need where it was made.
  std::vector<Algebra::Obligation> obligations;
  void oblige(Algebra::Obligation::Kind kind, Nf base);
  void oblige_power(Nf base, Rational exponent);
  void oblige_logarithm(Nf argument);

  // fraction.cpp
  std::optional<Nf> with_common_denominators(Nf e);
  bool is_zero_fraction(Nf e);
  std::pair<double, double> at_random(Nf e);
  std::unordered_map<AtomId, double> random_values;
  std::unordered_map<uint32_t, bool> zero_fractions;
  bool clearing = false;  ///< while denominators are multiplied away

  // functions.cpp
  Nf apply(Fn fn, Nf u);
  Nf exp(Nf u);
  Nf exp_group(Nf u);
  Nf log(Nf u);
  Rational odd_power(const Mono& factors) const;
  Nf log_of_any_sign(const Mono& factors, Rational coef);
  Nf sigmoid(Nf u);
  Nf step(Nf u);
  /// A term with the same sign as u, without some denominators and roots. comparison.cpp
  Nf same_sign(Nf u);
  Nf in_units(Nf u);
  std::optional<Nf> step_of_choice(Nf u);                                   // choice.cpp
  std::optional<Nf> relu_of_choice(Nf u);                                   // choice.cpp
  std::optional<Nf> magnitude_of_choice(Nf u);                              // choice.cpp
  std::optional<Nf> inside_magnitude(const Factor& f);                      // choice.cpp
  std::optional<Nf> magnitude_where(Nf u, AtomId condition);                // choice.cpp
  std::optional<Nf> without_magnitude(const Mono& factors, Rational coef);  // choice.cpp
  std::optional<Nf> without_denominators(Nf u);
  std::optional<Nf> without_roots(Nf u);
  Nf with_least_powers(Nf u);
  std::optional<Nf> without_increasing(Nf u);
  std::optional<Nf> argument_of(Op op, Rational n);
  std::optional<Nf> exponent_of(const Term& t);
  std::optional<Nf> without_exponentials(Nf u);
  std::optional<Nf> step_of_product(Nf u);
  std::optional<Nf> step_of_squares(Nf u);
  std::optional<Nf> step_of_magnitude(Nf u);
  std::optional<Nf> without_powers(Nf u);
  Nf split_products(Nf e);
  /// The atom step(u), or step(-u) with `flipped`. The positive content of u is removed first.
  Nf step_atom(Nf u, bool* flipped);
  Nf floor(Nf u);
  Nf seal(Nf u);
  std::optional<Nf> nested_floor(Nf u);
  Nf floordiv(Nf a, Nf b);
  struct Quotient {
    Nf numerator, denominator;
  };
  std::optional<Quotient> quotient_of_integers(Nf u);
  bool proper_fraction(Nf u);
  Nf mod(Nf a, Nf b);
  Nf lower_powers(Nf a, Rational n);
  Nf iota(Nf index);
  bool is_data(AtomId a);
  Nf relu(Nf u);
  Nf odd_even(Op op, Nf u, bool odd);
  // angle.cpp
  Nf turning(Op op, Nf u);
  Nf multiple_angle(Op op, Nf u, int k);
  Nf common_angles(Nf e);
  std::optional<Nf> fold_sine(const Mono& factors, Rational coef);
  std::optional<Nf> exp_minus_infinity(Nf u);
  std::optional<Nf> complement_of_sigmoid(Nf u);
  Nf least_exponential(Nf u);
  Nf inner(AtomId a);  // u of the atom exp(u), poly(u), log(u), ..
  /// The sum that a poly atom stands for; else the atom.
  Nf base_of(AtomId a) { return is_op(a, Op::poly) ? inner(a) : of_atom(a); }
  /// Whether the tensor of a's atom is older than that of b's (both single atoms). Choices of sign
  /// use it, so that they do not depend on variable names.
  bool older(Nf a, Nf b) const;
  AtomId only_atom(Nf e) const { return factors(terms(e)[0].mono)[0].atom; }
  std::unordered_map<AtomId, Nf> inner_cache;
  AtomId minus_infinity();

  // indicator.cpp
  std::optional<Nf> base_of_power(Nf e);
  Nf eq0(Nf e);
  Nf le0(Nf e);
  Nf indicator(AtomKind kind, Nf e);
  Nf strip_iota(Nf e);
  std::optional<Nf> split_radix(AtomKind kind, Nf e);
  Nf with_factors(Nf e, const std::function<std::optional<Nf>(const Factor&)>& value);
  Nf with_indicators(Nf e, const std::function<std::optional<Nf>(AtomId)>& value);
  std::optional<Nf> by_conditions(AtomKind kind, Nf e);
  std::optional<bool> chooses_greater(AtomId c, Nf on, Nf off);
  std::optional<Nf> as_extremum(Nf condition, Nf on, Nf off);
  std::optional<Nf> compare_extremum(AtomId c, Nf on, Nf off);
  bool absorb(Mono& factors);  // false: the product is zero
  enum class Pair : uint8_t { unrelated, implies, excludes };
  Pair relation(AtomId x, AtomId y);  // of two indicators
  Pair compare_steps(Nf x, Nf y);
  std::unordered_map<uint64_t, Pair> pair_facts;
  bool is_indicator(AtomId a) const;
  bool idempotent(AtomId a) const;
  std::unordered_map<uint64_t, Nf> indicator_cache;

  // digit_order.cpp
  std::optional<Nf> split_digits(AtomKind kind, Nf e);
  Nf compare_digits(Nf e);
  Nf with_digits_compared(Nf e);

  // index_cases.cpp
  std::optional<Nf> entry_by_cases(const Factor& entry, const std::vector<AtomId>& done);
  Nf with_cases_of_indices(Nf e);

  // blocks.cpp
  Nf with_blocks(Nf e);

  // opposite.cpp
  std::optional<AtomId> opposite(AtomId a);
  std::optional<Nf> meet_opposites(const Mono& factors, Rational coef);
  Nf both_ways(AtomId a);
  Nf lift_sum(const VarSet& bound, const Mono& factors);
  Nf older_sum(const VarSet& bound, const Mono& factors);
  Nf with_sums(Nf e, const std::function<Nf(const VarSet&, const Mono&)>& form);
  Nf older_sums(Nf e);
  std::optional<Nf> without_offset(AtomId comparison);
  Nf sums_to_index(Nf e);
  Nf unite_opposites(Nf e);
  Nf unite_covers(Nf e);

  // mirror.cpp
  struct Reads {
    // Counts can double at each level of nested tensors: they saturate here.
    static constexpr int most = 1 << 24;
    int forwards = 0, backwards = 0;  // uses of x[v] and of x[|v| - 1 - v]
    // [v <= w] and [v <= |v| - 1 - w], and v and |v| - 1 - v as numbers; they break ties
    int along = 0, against = 0;
    void add(const Reads& inner);
    bool turned() const { return backwards != forwards ? backwards > forwards : against > along; }
    bool ties() const { return backwards == forwards && against == along && backwards + against; }
  };
  Reads reads(Nf e, VarId v);
  static constexpr int most_turns = 8;
  int turns = 0;  ///< current number of nested reversals
  void compared(Nf e, VarId v, Reads* all) const;
  int direction(Nf index, VarId v) const;
  Nf sum_either_way(const VarSet& bound, const Mono& factors);
  std::unordered_map<uint64_t, Reads> reads_cache;

  // given.cpp
  std::optional<Nf> given(const Mono& factors, Rational coef);
  std::optional<Nf> where_given(AtomId a, const Mono& conditions);
  std::unordered_map<uint64_t, std::optional<Nf>> given_cache;
  std::unordered_map<TensorId, bool> conditional;  // the body has an indicator
  bool is_conditional(AtomId a);

  // count.cpp, affine.cpp
  std::optional<Nf> count(VarId v, AtomId comparison);
  std::optional<Nf> count_between(const VarSet& bound, VarId v, const Mono& factors);
  std::optional<Nf> sum_of_indices(VarId v, const Factor& f);
  Nf gather_iota(Nf e);
  // circle.cpp
  bool floors = false;  ///< some term has a floor
  /// A floor that is 0 but where a condition holds; there it is `value`, or any number.
  struct Turn {
    Nf condition;
    std::optional<Rational> value;
  };
  std::optional<Turn> turn(AtomId floor);
  Nf turns_as_conditions(Nf e);
  std::vector<Nf> turned(VarId v, const Mono& factors);
  std::optional<Nf> sum_in_a_circle(const VarSet& bound, const Mono& factors);
  Nf turned_sums(Nf e);

  // intervals.cpp
  std::unordered_map<TensorId, Interval> declared_intervals;
  void declare_bound(Nf gap, bool strict);
  void declare_size_bound(AtomId leaf, Rational coef, Nf sizes, bool strict);
  Interval interval(AtomId a);
  Interval bounds_of(Nf e);
  Interval bounds_of_function(Op op, Nf u);
  int interval_nesting = 0;
  bool bounded_below(Nf e, bool strict);
  bool bounded_by_logarithms(Nf e, bool strict);
  std::optional<int> sign_of_number(Nf e);

  // squares.cpp
  std::unordered_map<uint32_t, bool> squares;  ///< expanded sums of squares; whether they are > 0
  std::unordered_map<uint32_t, std::optional<bool>> sign_cache;
  std::optional<bool> sign_of(const Factor& f);
  std::optional<bool> sign_of(Nf e);
  void note_square(Nf e, bool positive);
  void note_product(Nf a, Nf b, Nf product);
  void note_sum(Nf a, Nf b, Nf sum);
  void note_same_sign(Nf e, Nf other);
  void note_bound_sum(Nf body, Nf sum);

  // facts.cpp, bounds.cpp, size_sign.cpp
  Answers positive_cache, nonnegative_cache, integer_cache;
  std::vector<Nf> declared_positive;
  std::vector<std::vector<TensorId>> injective;
  std::vector<Nf> integral_ranges;  // declared integers >= 1
  void declare_range(Nf range);
  void declare_positive(Nf e);
  void forget_facts();
  bool positive(Nf e);
  bool positive_in_cases(Nf u, bool strict);
  bool of_positive_operand(Nf e, bool strict);
  // zero_sum.cpp
  struct Summand {
    AtomId value = 0;
    VarSet over;
  };
  std::optional<Summand> summand(AtomId sum, const VarSet& avoid);
  bool entry_in_all(const Summand& of, Nf body, Map& at);
  bool is_entry(const Summand& of, AtomId atom);
  bool positive_at_zero_too(const Poly& p) const;
  bool zero_with(AtomId sum, AtomId other);
  std::unordered_map<uint64_t, bool> zero_cache;
  // by_entries.cpp
  bool nonnegative_in_each_case(Nf e);
  bool nonnegative_product(Nf e);
  bool bounded_by_entries(Nf e, bool strict);
  std::optional<Nf> base_of_root(Nf e);
  bool nonnegative_terms(Nf e);
  bool nonnegative(Nf e);
  bool integer(Nf e);
  bool positive_atom(AtomId a);
  bool every_entry(AtomId a);
  bool nonnegative_atom(AtomId a, Rational exponent);
  /// Whether the atom may leave a root or a logarithm of a product. False for indicators.
  bool never_negative(AtomId a);
  bool negative_where_defined(AtomId a);
  bool integer_atom(AtomId a);
  bool integral_sizes(Rational coef, const Mono& sizes, int depth);
  bool nonnegative_sizes(Nf e);
  struct Bounds {
    std::optional<Nf> low, high;
  };
  std::unordered_map<TensorId, Bounds> declared_bounds;  ///< of integers, by terms of sizes
  Bounds bounds_of_atom(AtomId a);
  Bounds bounds(Nf e);
  bool at_least(Nf e, int64_t bound);  // e >= bound for all values of its variables
  Answers size_sign_cache;
  std::map<int64_t, Answers> at_least_cache;  // by bound

  // substitute.cpp
  Nf substitute(Nf e, const Map& map);
  Nf substitute_atom(AtomId a, const Map& map);
  Nf with_arguments(AtomId a, std::vector<Nf> args);
  bool only_renames(Nf e, const Map& map) const;
  Interner<Map> maps;
  ByPair<Nf> substituted;  // by term and map
  int substitute_depth = 0, fix_depth = 0;

  // rename.cpp
  std::vector<Nf> rename(const std::vector<Nf>& in,
                         const std::vector<std::pair<TensorId, TensorId>>& names);

  // lift.cpp: D[args], with D in canonical form. canonical.cpp: the order of parameters and
  // binders.
  Nf lift(Op op, const VarSet& binders, Nf body);
  Nf app(TensorId t, std::vector<Nf> args);
  Nf open(TensorId t, const std::vector<Nf>& args, const VarSet& avoid, VarSet* binders);
  Nf rebuild(Op op, const VarSet& binders, Nf body);
  std::vector<Nf> least_arguments(TensorId t, std::vector<Nf> args) const;
  struct Order {
    VarSet params, binders;
    Nf body;
    std::vector<VarSet> symmetric;  // other orders of the parameters that give the same body
  };
  TensorId derived_tensor(Op op, const Order& order);
  Order canonical(Op op, const VarSet& params, const VarSet& binders, Nf body);
  Known lift_cache;
  /// Null unless the atom is an application.
  const TensorInfo* derived(AtomId a) const {
    return atoms[a].kind == AtomKind::app ? &tensors[atoms[a].ref] : nullptr;
  }
  bool is_op(AtomId a, Op op) const {
    const TensorInfo* t = derived(a);
    return t != nullptr && t->op == op;
  }
  /// The u of sigmoid(2 u) where the file writes tanh(u).
  std::optional<Nf> tanh_argument(AtomId a);
  Nf with_tanh(Nf e);  // tanh(u) in place of these, in what is shown

  // sum.cpp, delta.cpp, injective.cpp, threshold.cpp, telescope.cpp, digits.cpp, max.cpp
  Nf sum(VarSet bound, Nf body);
  Nf sum_term(VarSet bound, Mono factors, Rational coef);
  Nf sum_components(const VarSet& bound, const Mono& factors, Rational coef);
  Nf sum_thresholds(const VarSet& bound, Nf body, bool* done);
  std::optional<std::pair<Nf, Nf>> sides_of_threshold(Nf e);
  struct Below {
    Nf inside, rest;  ///< [v < K], and a value that is free of it
  };
  std::optional<Below> only_below_threshold(Nf e);
  Nf with_atom(Nf e, AtomId indicator, bool value);
  Nf sum_telescoping(const VarSet& bound, Nf body, bool* done);
  bool flatten(VarSet& bound, Mono& factors, Nf* opened);
  std::optional<Nf> solved_for(Nf e, VarId v);
  std::optional<Nf> delta(const VarSet& bound, const Mono& factors, Rational coef, bool in_range);
  std::optional<Nf> width_of_blocks(AtomId a, VarId v);
  std::optional<Nf> value_of_read(Nf equation, Nf read, VarId v);
  std::optional<Nf> delta_of_block(const VarSet& bound, const Mono& factors, Rational coef);
  std::optional<Nf> apply_injective(const VarSet& bound, const Mono& factors, Rational coef);
  std::optional<Nf> gather(const VarSet& bound, const Mono& factors, Rational coef);
  bool may_cancel(VarId k, const Mono& with, const Mono& rest) const;
  std::optional<Nf> cancel(const VarSet& bound, const Mono& factors, Rational coef);
  bool merge_digits(VarSet& bound, Nf& body);
  std::vector<std::pair<VarId, VarId>> digit_pairs(Nf e);
  std::unordered_map<uint32_t, std::vector<std::pair<VarId, VarId>>> pair_cache;
  bool may_be_digits(Nf e, VarId c, VarId j);
  bool may_be_digits_in(AtomId a, VarId c, VarId j);
  bool is_digits(Nf index, VarId c, VarId j);
  std::map<std::tuple<uint32_t, VarId, VarId>, bool> digits_cache;
  Nf max(VarSet bound, Nf body);
  std::optional<Nf> max_of_function(const VarSet& bound, Nf body);
  Nf maximum(Nf a, Nf b);
  std::optional<Nf> clip(Nf inside, Nf low);
  bool below_maximum(Nf u);
  bool is_entry_of(AtomId maximum, Nf entry);
  bool counts_greatest(AtomId sum);
  std::optional<Nf> greatest_magnitude(Nf a, Nf b);
  std::unordered_map<uint32_t, std::vector<Nf>> maxima;  // operands of a maximum of several values
  Known sum_cache;

  // permutation.cpp
  bool orders = false;                              ///< some term has an argsort
  std::unordered_map<TensorId, TensorId> inverses;  ///< of permutations, both ways
  TensorId inverse(TensorId order, Nf count, const std::string& key);
  TensorId inverse_of(TensorId order, int copy);
  TensorId place_among(TensorId order, Nf count);
  bool is_order(AtomId a, const std::string& name) const;
  bool orders_at(AtomId a, const std::string& name, VarId v);
  std::vector<AtomId> orders_of(Nf e, const char* name, VarId v);
  /// The row of an order: its entry at the variables that are added to `index`.
  std::optional<Nf> row_of(const std::vector<Nf>& args, VarSet* index);
  bool permutes(AtomId a, VarId v);
  std::optional<Nf> there_and_back(TensorId id, const std::vector<Nf>& args);
  std::optional<Nf> order_of_order(TensorId id, const std::vector<Nf>& args);
  std::optional<Nf> of_permutation(TensorId id, const std::vector<Nf>& args);
  std::optional<Nf> at_place(const VarSet& bound, const Mono& factors, Rational coef);
  std::optional<Nf> in_any_order(const VarSet& bound, const Mono& factors, Rational coef);

  // show.cpp
  using Names = std::map<VarId, std::string>;
  std::string show(Nf e, int depth = 4, const Names& names = {});
  std::optional<std::string> show_remainder(Nf e, int depth, const Names& names);
  std::string show_sum(Nf e, int depth, const Names& names);
  int show_nesting = 0, show_left = 0;
  std::string show_tensor(const TensorInfo& t, int depth, Names inside);
  std::string show_named(const Atom& a, const TensorInfo& t, int depth, const Names& names);
  std::string show_scan(const Atom& a, const TensorInfo& t, int depth, const Names& names);
  bool shows_as_sum(AtomId id);
  std::string show_atom(AtomId a, int depth, const Names& names);
  std::string show_factor(const Factor& f, int depth, const Names& names);
};

inline Mono without(const Mono& factors, size_t i) {
  Mono rest = factors;
  rest.erase(rest.begin() + static_cast<long>(i));
  return rest;
}

inline bool contains(const VarSet& set, VarId v) {
  for (VarId w : set)
    if (w == v) return true;
  return false;
}

VarSet set_union(const VarSet& a, const VarSet& b);
VarSet set_minus(const VarSet& a, const VarSet& b);

}  // namespace shardproof::algebra
