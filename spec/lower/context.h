#pragma once
// State that every op's lowering uses: the algebra, the index variables of dims, and the values of
// the current function.
#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>

#include "spec/lower/lower.h"

namespace shardproof::lower {

using algebra::Nf;
using algebra::Var;

/// Index variables, outermost first; the range of each is its size. Two indices of a value or an op
/// are equal exactly if their variables are.
using Vars = std::vector<Var>;

bool contains(const Vars& vars, Var var);
Vars without(const Vars& vars, const Vars& other);
Vars flat(const std::vector<Vars>& positions);

struct Site;

struct Makers;

/// The leaves of loop carries that are free in a term, and the greatest number of a loop in it.
struct CarriesIn {
  std::set<Name> leaves;
  int scans = -1;  ///< in a name "scan@3 .."; -1: there is none
};

/// One inlined function: the values lowered so far, and its loop depth.
struct Frame {
  const ir::Function& function;
  std::vector<std::optional<TensorExpr>> values;
  size_t depth = 0;    ///< loops around it
  bool top = false;    ///< the requested function: its named values are recorded
  bool taped = false;  ///< the frames of its calls are kept for the reverse pass
  std::map<const ir::Instr*, std::shared_ptr<Frame>> calls = {};
  std::vector<bool> needed = {};                ///< by value: whether a lowered value needs it
  std::set<ir::ValueId> given = {};             ///< values that are set in advance and not lowered
  std::map<ir::ValueId, TensorExpr> cuts = {};  ///< what stands for a value once it is lowered
  /// By value: whether it depends on a cotangent parameter of the function.
  std::vector<bool> upstream = std::vector<bool>(function.values.size(), false);
  mutable std::shared_ptr<const Makers> makers = {};  ///< made when first read: assumed.cpp
  const Site* caller = nullptr;                       ///< set while its body is lowered
  std::vector<Demand> demands = {};                   ///< by value; filled on first use
  const std::vector<Demand>& demands_of(const ir::Program& program, Reach reach);  ///< needs.cpp
};

/// The instruction being lowered.
struct Site {
  const ir::Instr& instr;
  Frame& frame;
  /// Throws std::bad_optional_access if it was not lowered.
  const TensorExpr& operand(size_t i) const {
    return frame.values.at(instr.operands.at(i)).value();
  }
  const Type& type(size_t i) const { return frame.function.values.at(instr.operands.at(i)).type; }
  /// For the first `count` operands: whether each depends on a cotangent parameter.
  std::vector<bool> upstream(size_t count) const {
    std::vector<bool> result;
    for (size_t i = 0; i < count; ++i) result.push_back(frame.upstream.at(instr.operands.at(i)));
    return result;
  }
  const ir::Value& result(size_t i) const { return frame.function.values.at(instr.results.at(i)); }
};

/// A loop that was lowered, with the carries that are functions of the step.
struct PastLoop {
  struct Carry {
    TensorExpr start, at, next, last;  ///< `at` step n, `next` after that step
  };
  Var n;
  bool reverse;
  std::vector<Carry> carries;
};

class Context {
 public:
  Context(algebra::Algebra& algebra, const ir::Program& program, const Options& options,
          Variables& variables, Reach reach)
      : a(algebra), program(program), options(options), vars_(variables), reach_(reach) {}

  algebra::Algebra& a;
  const ir::Program& program;
  const Options& options;
  std::vector<Named> named;
  bool keeps_values = false;  ///< Request::keeps_values
  std::map<ir::ValueId, TensorExpr> values;
  size_t most_values = ~size_t{0};  ///< Request::first_values
  struct EnoughValues {};           ///< thrown after these
  std::optional<Var> block_number;  ///< in the body of a ring
  std::vector<Loop> loops;
  std::map<std::string, Name> ring_carries;            ///< by the leaf that stands for it
  std::vector<PastLoop> past;                          ///< newest last
  std::unordered_map<uint32_t, CarriesIn> carries_in;  ///< by term
  void keep(PastLoop loop);                            ///< follow.cpp

  // dims.cpp
  Nf size(const Dim& dim);
  Nf size(const Vars& index);
  Nf size_of_base(const Name& base);
  Nf axis(const Axis& axis);
  /// The variables of a type's positions, one per factor, all different. They are chosen by the
  /// factors' names, so values that share an index mostly share the variable.
  std::vector<Vars> positions(const std::vector<Split>& dims);
  Vars vars(const std::vector<Split>& dims);
  /// The variable for a name and a range; not one of `taken`.
  Var var(Name name, Nf range, const Vars& taken);
  std::vector<Nf> terms(const Vars& index);
  Nf join(const Vars& index);                          ///< the row-major index of a group
  std::vector<Nf> split(Nf index, const Vars& sizes);  ///< inverse of join
  Nf as_index(Nf value);                               ///< an i32 value as an index term
  Nf at(const TensorExpr& tensor, const std::vector<Nf>& index);
  Nf at(const TensorExpr& tensor, const Vars& index) { return at(tensor, terms(index)); }
  /// The entry at `index`, with `places` for the indices in `marked`.
  Nf at(const TensorExpr& tensor, const Vars& index, const Vars& marked,
        const std::vector<Nf>& places);
  /// The indices of a pointwise op. indices.cpp
  const ir::Indices& whole_positions(const Site& site);
  /// The operands of a pointwise op at the indices of its result. indices.cpp
  struct Entries {
    Vars right;
    std::vector<Nf> operands;
  };
  Entries entries(const Site& site);
  /// The same tensor with the index variables of `type`, which has the same positions.
  TensorExpr typed(const TensorExpr& tensor, const Type& type);
  /// Whether a term contains a loop carry: its facts hold in one loop only, but other loops may use
  /// its leaf.
  bool mentions_carry(Nf e);                         ///< loop.cpp
  Var loop_index(const std::string& key, Nf range);  ///< loop.cpp; key: depth, then the dim
  TensorExpr leaf(const std::string& name, const Type& type, const std::optional<Dim>& below = {});
  TensorExpr leaf(const std::string& name, const Vars& index, Dtype dtype,
                  const std::optional<Dim>& below = {});

  // number.cpp
  Nf arith(const ir::Arith& arith, const Frame* frame);
  bool ready(const ir::Arith& arith, const Frame& frame) const;
  void require(const ir::Arith& condition, const Frame* frame);
  Condition condition(const ir::Arith& arith, const Frame* frame);
  std::string shown_at_call(const ir::Arith& condition, const Frame* frame);

  std::vector<Condition> conditions, bounds;
  // assumed.cpp
  /// Declares what the top function assumes of its parameters, which are leaves.
  void declare_assumptions(const Frame& frame);
  /// Checks that the arguments satisfy the callee's assumptions; records those that are not proved.
  void check_call(size_t callee, const Site& site);
  /// Whether all entries of an integer value are known to be `op` bound, `<=` or `>=`: from its
  /// normal form, from an `assume` of the function, or from the instructions that make it.
  bool bounded(const Site& site, ir::ValueId value, const std::string& op, Nf bound);
  /// Declares l OP r, which is assumed. Returns false if it was already known.
  bool declare(Nf l, const std::string& op, Nf r);
  void declare_gap(Nf l, const std::string& op, Nf r);

  // assumptions
  void assume(const std::string& text) {
    if (!quiet() && seen_.insert(text).second) assumptions.push_back(text);
  }
  /// Assumes something that depends on sizes only.
  void assume_of_sizes(const std::string& text, std::set<Name> sizes) {
    assume(text);
    texts_of_sizes[text].merge(sizes);
  }
  /// Assumes l op r, called `text`; if both sides depend on sizes only, as a condition on them.
  void assume(const std::string& text, Nf left, const std::string& op, Nf right);  ///< number.cpp
  /// e where each of its indices is the first, and where each is the last. number.cpp
  std::array<Nf, 2> at_ends(Nf e);
  /// Assumes that a value is a whole number.
  void assume_whole(const std::string& text, Nf value);  ///< number.cpp
  std::vector<std::string> assumptions;
  TextsOfSizes texts_of_sizes;
  std::vector<ir::Arith> of_sizes;
  std::vector<ir::OfIndices> of_indices;
  /// Records an assumption that can never hold: a proof under it would be vacuous.
  void never(const std::string& text) {
    if (!quiet()) impossible.push_back(text);
  }
  /// While one exists, assumptions are not reported: the code is being lowered a second time.
  struct Quiet {
    Context& c;
    explicit Quiet(Context& context) : c(context) { ++c.quiet_; }
    ~Quiet() { --c.quiet_; }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
  };
  bool quiet() const { return quiet_ > 0; }
  std::vector<std::string> impossible;
  std::vector<Unmet> unmet;

  // needs.cpp
  /// Records what the instruction needs to be defined, and in which branches. Call it after
  /// lowering it.
  void note_needs(const Site& site);
  void note_whole_numbers(const Site& site);  ///< whole_numbers.cpp
  /// Fills in the branch conditions of the frame whose values are now known.
  void settle(const Frame& frame);

  // lower.cpp
  /// A frame of the requested function with its parameters bound; declares the program's
  /// requirements.
  Frame top_frame(const Request& request);
  TensorExpr leaf_for(const SharedLeaf& shared, const Type& type);
  Lowered finish(std::vector<TensorExpr> results);
  /// Lowers a call of `function`, or of the model that stands for it, and returns its frame.
  std::shared_ptr<Frame> call(size_t function, const std::vector<TensorExpr>& arguments,
                              const Site& site, bool taped = false,
                              const std::vector<bool>& upstream = {});
  std::vector<TensorExpr> returned(const Frame& frame) const;
  std::vector<TensorExpr> body(Frame& frame, const std::vector<bool>* wanted);
  void block(const ir::Block& block, Frame& frame, const std::vector<ir::ValueId>& wanted);
  /// With options.seals: seals the instruction's result. seal.cpp
  void seal(const ir::Instr& instr, Frame& frame);
  /// With options.contracted: returns the cotangent as an einsum reads it. seal.cpp
  Nf contracted(const ir::Instr& instr, Nf cotangent);
  int unsealed = 0;  ///< number of enclosing rings: nothing is sealed in their bodies
  /// The function whose gradient the claim is about. Its values are lowered too, under its
  /// assumptions.
  size_t differentiated(size_t function) const;
  bool stands_for_derivative(const ir::Function& f, size_t function) const;
  size_t callee(size_t function) const;  ///< the function itself, or the model that replaces it

 private:
  int required_numbers_ = 0;  ///< requirements that a size is at least a number
  /// A branch of a frame; its condition may not be lowered yet.
  struct Branch {
    const Frame* frame;
    Guard guard;
    std::optional<Nf> holds = {};
  };
  /// A result of the top function, and the branches that lead to it.
  struct Route {
    size_t result;
    std::vector<Branch> branches;
  };
  struct Pending {
    algebra::Algebra::Obligation what;
    OperandInText operand;
    std::optional<Route> route;  ///< none: it is not known where it is needed
  };
  std::vector<Route> routes(Frame& frame, const Demand& demand);
  std::vector<Route> routes(Frame& frame, const Way& way);
  std::vector<Need> needs();

  /// A factor of a dim; its size and the variable of its name, once they were asked for.
  struct DimIndex {
    Name name, dim;
    std::optional<Nf> size = {};
    std::optional<Var> var = {};
  };
  void add_vars(const Dim& dim, Vars& all);
  Nf declared_size(const Name& base);
  Nf required_size(const Name& base);
  Variables& vars_;                   // by key and range
  std::map<Name, Nf, ByName> sizes_;  // by base dim
  std::map<Name, std::vector<DimIndex>, ByName> dim_indices_;
  const Reach reach_;
  std::vector<Pending> pending_;
  std::map<const ir::Instr*, ir::Indices> whole_;
  std::set<std::string> seen_;
  int quiet_ = 0;
};

/// The indices of one instruction as variables. The result's indices are those of its type. The
/// others are those of the first operand that has them, or new ones if these are taken. indices.cpp
class Indices {
 public:
  Indices(Context& context, const Site& site, const ir::Pattern& pattern);
  /// For an op without a pattern: pairs whole positions.
  Indices(Context& context, const Site& site);

  size_t operands() const { return in_.left.size(); }
  Vars left(size_t operand) const { return of(in_.left.at(operand)); }
  Vars left(size_t operand, size_t at) const { return of({&in_.left.at(operand).at(at), 1}); }
  Vars right() const { return of(in_.right); }
  Vars right(size_t at) const { return of({&in_.right.at(at), 1}); }
  const Vars& all() const { return var_; }
  Nf operand(size_t i) const { return c_.at(site_.operand(i), left(i)); }

 private:
  Indices(Context& context, const Site& site, const ir::Indices& indices);
  void take_right();
  void take_left();
  Vars of(std::span<const ir::Position> positions) const;

  Context& c_;
  const Site& site_;
  const ir::Indices& in_;
  Vars var_;  ///< by id
};

/// By value: whether it depends on one of the marked parameters. seal.cpp
std::vector<bool> made_of(const ir::Function& function, const std::vector<bool>& params);

/// An exact rational if it has few digits, else a positive constant named by its digits.
Nf number(algebra::Algebra& a, const std::string& text);

/// pi, as a positive constant.
Nf pi(algebra::Algebra& a);

/// 1 if start <= i < start + |piece| for the index i of `marked`, else 0; without `piece`, |piece|
/// is 1.
Nf inside_piece(Context& c, const Vars& marked, Nf start, const Vars& piece);
/// The index of the largest entry of x along `over`; the lowest index of a tie. ordered.cpp
Nf argmax(Context& c, Nf x, const Vars& over);
bool is_argmax(Context& c, Nf index, Nf x, const Vars& over);
/// The index of the entry that `rank` others precede in the order of falling values.
Nf top_k(Context& c, Nf x, const Vars& over, Nf rank);
/// The same if x is made of the first entries of each block's order; else none.
std::optional<Nf> top_k_of_blocks(Context& c, Nf x, const Vars& over, Nf rank, Nf k);
/// |L| - 1 - i for each index i: the index along a reversed dim. slices.cpp
std::vector<Nf> mirrored(Context& c, const Vars& marked);
/// The number of entries per block of a ppermute along the first axis of its bracketed position.
Nf block_of(Context& c, const ir::Pattern& pattern, const Vars& marked);
/// The position of the operand that an `x[n]` indexes. slices.cpp
size_t entry_position(const ir::Entry& op, const Type& type);
/// The indices that top_k returns. ordered.cpp
TensorExpr top_k_places(Context& c, const Indices& in);
/// fn of one entry, or of two. conditions: the entries are 0 or 1. pointwise.cpp
Nf unary(algebra::Algebra& a, ir::UnaryFn fn, Nf x);
Nf binary(algebra::Algebra& a, ir::BinaryFn fn, Nf x, Nf y, bool conditions = false);
/// x to the power y; y may be a number or any term. pointwise.cpp
Nf power(algebra::Algebra& a, Nf x, Nf y);

/// Values that the instruction reads, including those that its loop body reads.
std::vector<ir::ValueId> uses(const ir::Instr& instr);

// One lowering per op, in the file of its op family.
using Results = std::vector<TensorExpr>;
#define SHARDPROOF_LOWERS(OP) Results lower_op(Context& c, const ir::OP& op, const Site& site);
// numbers and pointwise.cpp
/// A call of a backward, lowered as the derivative that it stands for.
Results lower_backward_call(Context& c, const ir::Function& backward, const Site& site);

SHARDPROOF_LOWERS(Number)
SHARDPROOF_LOWERS(SizeOf)
SHARDPROOF_LOWERS(Unary)
SHARDPROOF_LOWERS(Binary)
SHARDPROOF_LOWERS(Where)
SHARDPROOF_LOWERS(Cast)
SHARDPROOF_LOWERS(StopGrad)
SHARDPROOF_LOWERS(Save)
SHARDPROOF_LOWERS(Ascribe)
SHARDPROOF_LOWERS(Total)
// einsum.cpp
SHARDPROOF_LOWERS(Einsum)
SHARDPROOF_LOWERS(Reduce)
SHARDPROOF_LOWERS(Expand)
SHARDPROOF_LOWERS(Rearrange)
SHARDPROOF_LOWERS(Collective)
// slices.cpp
SHARDPROOF_LOWERS(Read)
SHARDPROOF_LOWERS(Write)
SHARDPROOF_LOWERS(Concat)
SHARDPROOF_LOWERS(Roll)
SHARDPROOF_LOWERS(Rev)
SHARDPROOF_LOWERS(Ppermute)
SHARDPROOF_LOWERS(Entry)
// index.cpp
SHARDPROOF_LOWERS(Index)
SHARDPROOF_LOWERS(IndexUnreduced)
SHARDPROOF_LOWERS(IndexAdd)
// created.cpp
SHARDPROOF_LOWERS(Iota)
SHARDPROOF_LOWERS(Random)
SHARDPROOF_LOWERS(Zeros)
SHARDPROOF_LOWERS(Fold)
// ordered.cpp
SHARDPROOF_LOWERS(Ordered)
SHARDPROOF_LOWERS(Argmax)
SHARDPROOF_LOWERS(TopK)
// loops.cpp, lower.cpp
SHARDPROOF_LOWERS(Call)
SHARDPROOF_LOWERS(Scan)
SHARDPROOF_LOWERS(Grad)
SHARDPROOF_LOWERS(Ring)
SHARDPROOF_LOWERS(Pipeline)
SHARDPROOF_LOWERS(Stages)
#undef SHARDPROOF_LOWERS

}  // namespace shardproof::lower
