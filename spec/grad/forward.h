#pragma once
// Recomputes forward values where the backward needs them.
#include <map>

#include "spec/grad/graph.h"
#include "spec/grad/tape.h"

namespace shardproof::grad {

/// A scope in which a tape's values exist: the plan itself, the forward loop, or the backward loop.
struct Context {
  const Tape* tape;
  Block* block;
  Context* parent = nullptr;
  std::map<ValueIndex, Ref> values;
  std::map<const TapeOp*, Node*> loops;
  std::map<const TapeOp*, Context*> loop_bodies;
  const TapeOp* reverses = nullptr;  ///< the loop that it runs backwards
  Ref index;                         ///< of that loop
};

/// The shape that a library call's pattern states for an operand, perhaps with opened groups, with
/// the operand's axes and marks.
Shape stated(const ir::Program& program, const Shape& pattern, const Type& operand);

class Forward {
 public:
  Forward(Graph& graph, Recording& recording) : graph_(graph), recording_(recording) {}

  /// The value, computed in or passed to the scope `here`.
  Ref value(ValueIndex v, Context& here);
  /// A value of a loop's step, stacked: the forward scan emits it.
  Ref stacked(const TapeOp& loop, ValueIndex v, Context& here);
  Context* open(const Tape& tape, Block& block, Context* parent);
  /// The saved values in use: name and type.
  const std::vector<Ref>& saved() const { return saved_; }
  Graph& graph() { return graph_; }
  Recording& recording() { return recording_; }

 private:
  /// The scope around `here` that the value belongs to.
  Context& home(ValueIndex v, Context& here);
  const TapeOp* computed_again(ValueIndex v, const Context& context) const;
  void name(ValueIndex v, Context& context);  ///< computes it, its operands are known
  Ref compute(ValueIndex v, Context& context);
  std::optional<Ref> last_carry(ValueIndex v, Context& context);
  Ref again(const TapeOp& taped, size_t result, const ir::Op& op, Context& context);
  Ref library(const TapeOp& taped, size_t result, const Library& library, Context& context);
  Ref trusted(const TapeOp& taped, size_t result, const Trusted& call, Context& context);
  Ref loop(const TapeOp& taped, size_t result, Context& context);
  Node* scan(const TapeOp& taped, Context& context);
  Ref without_dim(const ScanText& loop, Ref value);
  Ref emitted(Node& scan, Ref value);

  Graph& graph_;
  Recording& recording_;
  std::deque<Context> contexts_;
  std::map<std::pair<const TapeOp*, Context*>, Node*> calls_;
  std::vector<Ref> saved_;
};

}  // namespace shardproof::grad
