#pragma once
// What every lowering sees: the algebra, the variables of dims, the values of the function being
// walked.
#include <map>
#include <memory>
#include <set>

#include "spec/lower/lower.h"

namespace shardproof::lower {

using algebra::Nf;
using algebra::Var;

/// Indices, the first major: each is a variable, whose range is its size. Two indices of a value,
/// or of an op, are the same where the variable is.
using Vars = std::vector<Var>;

bool contains(const Vars& vars, Var var);
Vars without(const Vars& vars, const Vars& other);
Vars flat(const std::vector<Vars>& positions);

struct Site;

/// One inlined function: its values so far, and how many loops are around.
struct Frame {
  const ir::Function& function;
  std::vector<std::optional<Tensor>> values;
  size_t depth = 0;    ///< loops around it
  bool top = false;    ///< the function asked for: its named values are recorded
  bool taped = false;  ///< the frames of its calls are kept, for the way back
  std::map<const ir::Instr*, std::shared_ptr<Frame>> calls = {};
  std::vector<bool> needed = {};     ///< by value: what was lowered needs it
  std::set<ir::ValueId> given = {};  ///< values that stand as they are: they are not lowered
  /// By value: it depends on a cotangent that the function takes.
  std::vector<bool> upstream = std::vector<bool>(function.values.size(), false);
  const Site* caller = nullptr;      ///< while its body is lowered
  std::vector<Demand> demands = {};  ///< by value, once one is asked for
  const std::vector<Demand>& demands_of(const ir::Program& program, Reach reach);  ///< needs.cpp
};

/// The instruction being lowered.
struct Site {
  const ir::Instr& instr;
  Frame& frame;
  const Tensor& operand(size_t i) const { return *frame.values.at(instr.operands.at(i)); }
  const Type& type(size_t i) const { return frame.function.values.at(instr.operands.at(i)).type; }
  /// Of the first operands: whether they depend on a cotangent that the function takes.
  std::vector<bool> upstream(size_t count) const {
    std::vector<bool> result;
    for (size_t i = 0; i < count; ++i) result.push_back(frame.upstream.at(instr.operands.at(i)));
    return result;
  }
  const ir::Value& result(size_t i) const { return frame.function.values.at(instr.results.at(i)); }
};

/// A loop that was lowered: its carries that are functions of the step.
struct PastLoop {
  struct Carry {
    Tensor start, at, next, last;  ///< `at` step n, and after that step
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
  std::optional<Var> block_number;  ///< in the body of a ring
  std::vector<Loop> loops;
  std::vector<PastLoop> past;  ///< the newest last
  void keep(PastLoop loop);    ///< follow.cpp

  // dims.cpp
  Nf size(const Dim& dim);
  Nf size(const Vars& index);
  Nf size_of_base(const Name& base);
  Nf axis(const Axis& axis);
  /// The variables of a type's positions, one per factor, all different: those of the factors'
  /// names, so that most values that share an index share its variable.
  std::vector<Vars> positions(const std::vector<Split>& dims);
  Vars vars(const std::vector<Split>& dims) { return flat(positions(dims)); }
  /// The variable of a name and a range that is none of `taken`.
  Var var(Name name, Nf range, const Vars& taken);
  std::vector<Nf> terms(const Vars& index);
  Nf join(const Vars& index);                          ///< the row-major index of a group
  std::vector<Nf> split(Nf index, const Vars& sizes);  ///< its inverse
  Nf as_index(Nf value);                               ///< an i32 value as an index term
  Nf at(const Tensor& tensor, const std::vector<Nf>& index);
  Nf at(const Tensor& tensor, const Vars& index) { return at(tensor, terms(index)); }
  /// At `index`, with `places` for those of `marked`.
  Nf at(const Tensor& tensor, const Vars& index, const Vars& marked, const std::vector<Nf>& places);
  /// The indices of a pointwise op. indices.cpp
  const ir::Indices& whole_positions(const Site& site);
  /// The tensor with the variables of a type of the same positions.
  Tensor typed(const Tensor& tensor, const Type& type);
  /// A fact about a carry holds in one loop only, and its leaf stands in others as well.
  bool mentions_carry(Nf e);                         ///< loop.cpp
  Var loop_index(const std::string& key, Nf range);  ///< loop.cpp; key: depth, then the dim
  Tensor leaf(const std::string& name, const Type& type, const std::optional<Dim>& below = {});
  Tensor leaf(const std::string& name, const Vars& index, Dtype dtype,
              const std::optional<Dim>& below = {});

  // number.cpp
  Nf arith(const ir::Arith& arith, const Frame* frame);
  bool ready(const ir::Arith& arith, const Frame& frame) const;
  void require(const ir::Arith& condition, const Frame* frame);
  Condition condition(const ir::Arith& arith, const Frame* frame);
  std::string shown_at_call(const ir::Arith& condition, const Frame* frame);

  std::vector<Condition> conditions;
  // assumed.cpp
  /// What the function asked for assumes of its parameters, which are leaves.
  void declare_assumptions(const Frame& frame);
  /// What the callee assumes is seen to hold of the arguments, or is noted as unmet.
  void check_call(size_t callee, const Site& site);
  /// Makes l OP r, which is assumed, a fact; false: it was known.
  bool declare(Nf l, const std::string& op, Nf r);

  // assumptions
  void assume(const std::string& text) {
    if (!quiet() && seen_.insert(text).second) assumptions.push_back(text);
  }
  /// l op r, where both are made of sizes: beside its words.
  void assume_of_sizes(Nf left, const std::string& op, Nf right);  ///< number.cpp
  std::vector<std::string> assumptions;
  std::vector<ir::Arith> of_sizes;
  /// An assumption that never holds: nothing follows from it.
  void never(const std::string& text) {
    if (!quiet()) impossible.push_back(text);
  }
  /// While one lives, what is lowered once more is not reported once more.
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
  /// What the instruction needs, and where: after it is lowered.
  void note_needs(const Site& site);
  /// The conditions of the frame that have a value now.
  void settle(const Frame& frame);

  // lower.cpp
  /// The function asked for, its parameters bound; the program's requirements are declared.
  Frame top_frame(const Request& request);
  Lowered finish(std::vector<Tensor> results);
  /// The frame of `function` after its body, or of the model that stands for it.
  std::shared_ptr<Frame> call(size_t function, const std::vector<Tensor>& arguments,
                              const Site& site, bool taped = false,
                              const std::vector<bool>& upstream = {});
  std::vector<Tensor> returned(const Frame& frame) const;
  std::vector<Tensor> body(Frame& frame, const std::vector<bool>* wanted);
  void block(const ir::Block& block, Frame& frame, const std::vector<ir::ValueId>& wanted);
  /// With options.seals: the result is sealed. seal.cpp
  void seal(const ir::Instr& instr, Frame& frame);
  /// With options.contracted: the cotangent as an einsum reads it. seal.cpp
  Nf contracted(const ir::Instr& instr, Nf cotangent);
  int unsealed = 0;  ///< rings whose body is being looked into: nothing is sealed there
  /// Whose gradient it is that a plan's stands for: its values are lowered as well, under what it
  /// assumes.
  size_t differentiated(size_t function) const;
  bool stands_for_derivative(const ir::Function& f, size_t function) const;
  size_t callee(size_t function) const;  ///< the function itself, or the model that stands for it

 private:
  /// A guard of a frame whose condition may not be lowered yet.
  struct Branch {
    const Frame* frame;
    Guard guard;
    std::optional<Nf> holds = {};
  };
  /// A result of the function asked for, and the branches on the way.
  struct Route {
    size_t result;
    std::vector<Branch> branches;
  };
  struct Pending {
    algebra::Algebra::Obligation what;
    std::optional<Route> route;  ///< none: it is not known where it is needed
  };
  std::vector<Route> routes(Frame& frame, const Demand& demand);
  std::vector<Route> routes(Frame& frame, const Way& way);
  std::vector<Need> needs();

  Nf declared_size(const Name& base);
  Variables& vars_;           // by key and range
  std::map<Name, Nf> sizes_;  // by base dim
  const Reach reach_;
  std::vector<Pending> pending_;
  std::map<const ir::Instr*, ir::Indices> whole_;
  std::set<std::string> seen_;
  int quiet_ = 0;
};

/// The indices of one instruction as variables: those of the result are its type's own, the others
/// those of the first operand that has them, or new ones where these are taken. indices.cpp
class Indices {
 public:
  Indices(Context& context, const Site& site, const ir::Pattern& pattern);
  /// Of an op without a pattern: whole positions are paired.
  Indices(Context& context, const Site& site);

  size_t operands() const { return in_.left.size(); }
  Vars left(size_t operand) const { return of(in_.left.at(operand)); }
  Vars left(size_t operand, size_t at) const { return of({in_.left.at(operand).at(at)}); }
  Vars right() const { return of(in_.right); }
  Vars right(size_t at) const { return of({in_.right.at(at)}); }
  const Vars& all() const { return var_; }
  Nf operand(size_t i) const { return c_.at(site_.operand(i), left(i)); }

 private:
  Indices(Context& context, const Site& site, const ir::Indices& indices);
  void take_right();
  void take_left();
  Vars of(const std::vector<ir::Position>& positions) const;

  Context& c_;
  const Site& site_;
  const ir::Indices& in_;
  Vars var_;  ///< by id
};

/// By value: it depends on one of the parameters marked. seal.cpp
std::vector<bool> made_of(const ir::Function& function, const std::vector<bool>& params);

/// An exact rational where digits allow, else a positive constant named by its digits.
Nf number(algebra::Algebra& a, const std::string& text);

/// pi, a positive constant.
Nf pi(algebra::Algebra& a);

/// [the index of `marked` lies in a piece of `length` from `start` on]; all of it if it is one.
Nf inside_piece(Context& c, const Vars& marked, Nf start, const Vars& piece);
/// The place of the largest entry of x along `over`, the lowest of a tie. ordered.cpp
Nf argmax(Context& c, Nf x, const Vars& over);
/// |L| - 1 - i for each index: the place along a dim that is read backwards. slices.cpp
std::vector<Nf> mirrored(Context& c, const Vars& marked);
/// The entries that one place of a ppermute is, in the first axis of its bracketed position.
Nf block_of(Context& c, const ir::Pattern& pattern, const Vars& marked);
/// The position that an entry is taken of. slices.cpp
size_t entry_position(const ir::Entry& op, const Type& type);
/// The indices of a top_k. ordered.cpp
Tensor top_k_places(Context& c, const Indices& in);
/// fn of one entry, of two. conditions: they are 0 or 1. pointwise.cpp
Nf unary(algebra::Algebra& a, ir::UnaryFn fn, Nf x);
Nf binary(algebra::Algebra& a, ir::BinaryFn fn, Nf x, Nf y, bool conditions = false);
/// x to the power y, y a number or not. pointwise.cpp
Nf power(algebra::Algebra& a, Nf x, Nf y);

/// Values that the instruction reads, those of its loop body included.
std::vector<ir::ValueId> uses(const ir::Instr& instr);

// One lowering per op, in the file named for its family.
using Results = std::vector<Tensor>;
#define SHARDPROOF_LOWERS(OP) Results lower_op(Context& c, const ir::OP& op, const Site& site);
// numbers and pointwise.cpp
/// A call of a backward, by the derivative that it stands for.
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
