#pragma once
// From a checked plan to steps on one rank. Each op's own file adds its steps through a Site.
#include <memory>
#include <set>

#include "impl/compile/expression.h"
#include "impl/compile/keys.h"
#include "impl/compile/masks.h"
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"
#include "spec/diag/diagnostic.h"
#include "spec/schedule/schedule.h"
#include "spec/syntax/ast.h"

namespace shardproof::compile {

/// A function of a program with the types of its values.
struct Unit {
  const ir::Program* program = nullptr;
  const std::vector<std::vector<Type>>* types = nullptr;  ///< by function, by value
  const Sources* sources = nullptr;
  size_t function = 0;
  /// Plans with pipelines as they are written, and their schedules; null: those are not compiled.
  const std::map<size_t, ir::Function>* written = nullptr;
  const std::map<Name, syntax::ScheduleDecl>* schedules = nullptr;

  const ir::Function& plan() const {
    return has_pipeline() ? written->at(function) : program->functions.at(function);
  }
  bool has_pipeline() const { return written && written->contains(function); }
  const Type& type(ir::ValueId value) const { return types->at(function).at(value); }
};

/// The backward of a plan of `unit`, with respect to leaf parameters: a plan that comes after it in
/// a program of its own.
using FindBackward = std::function<Unit(const Unit& plan, const std::vector<size_t>& wrt)>;

/// A value of a function while it is compiled: a number, a chain that is not yet computed, or a
/// view of a buffer.
struct Value {
  ExpressionPtr expression;  ///< a leaf, a constant, or a pending chain
  bool known() const { return expression != nullptr; }
};

constexpr int many_uses = 1 << 16;

/// All of a value in memory: the dims of the view are the positions of its type.
Value in_memory(const Ref& ref);

/// A function being compiled.
struct Scope {
  Unit unit;
  Placement placement;
  std::vector<Value> values;
  std::vector<int> uses;  ///< more than one: it is computed at once; from within a loop: many
  std::vector<Key> keys;  ///< of the values
  /// By tensor and index of a ring: the block that has come to this rank.
  std::map<std::pair<ir::ValueId, ir::ValueId>, Ref> blocks = {};
};

class Compiler {
 public:
  Compiler(FindBackward find_backward, Precision precision, const Device& device)
      : find_backward_(std::move(find_backward)), precision_(precision), device_(device) {}

  // --- buffers ---
  /// A new contiguous buffer.
  Ref create(Element element, std::vector<int64_t> extents);
  /// A buffer that is given to each run.
  Ref external(Element element, std::vector<int64_t> extents);
  /// All of a buffer of the arena, row-major.
  bool is_whole(const Ref& ref) const;
  /// Each run gives the memory of this buffer.
  void give(BufferId buffer) { externals_.push_back(buffer); }
  Element element(Dtype dtype) const { return element_of(dtype, precision_); }

  // --- steps ---
  /// A step that its caller makes a kernel, a fused kernel or an exchange.
  Step& step(const std::string& op, const std::vector<BufferId>& reads,
             const std::vector<BufferId>& writes);
  void exchange(const std::string& name, Exchange exchange);
  void kernel(const std::string& name, KernelOp op, const Ref& out, std::vector<Ref> inputs);
  /// Whether the device has the op, and plans are to use it.
  bool fuses(const FusedOp& op) const { return fuses_ && device_.has_fused(op); }
  void set_fuses(bool on) { fuses_ = on; }
  void set_unroll(size_t iterations) { unroll_ = iterations; }
  /// Makes the scratch that the op needs, and returns it.
  std::vector<Ref> fused(const std::string& name, const FusedOp& op, std::vector<Ref> outputs,
                         std::vector<Ref> inputs);
  /// What an attention has left for its gradient. It is found by the steps after it, of the same
  /// function and the same loop: memory that was not saved is not kept for others.
  struct Attended {
    std::vector<Ref> operands;  ///< q, k, v, mask
    std::vector<double> scale;  ///< where it is known; otherwise it is the last operand
    Ref o, masses;
  };
  void attended(Attended made) { attended_.push_back(std::move(made)); }
  const Attended* attended(const std::vector<Ref>& operands,
                           const std::vector<double>& scale) const;
  const Masks& masks() const { return masks_; }
  /// to = from, entry by entry; converts between elements. The extents are the same.
  void move(const std::string& op, const Ref& from, const Ref& to);
  /// `ref`, or a copy of it in `element` without gaps.
  Ref packed(const Ref& ref, Element element);
  /// The expression computed along positions of these local extents.
  Ref compute(const ExpressionPtr& expression, Element element,
              const std::vector<int64_t>& extents);
  void compute_into(const ExpressionPtr& expression, const Ref& to);
  /// The group of this rank along the axes, as a number; it has more than one member.
  size_t group(const std::vector<int>& ranks, const std::vector<Axis>& axes);
  /// Whether all ranks have the same steps, but for where views begin.
  bool alike() const { return alike_; }
  void set_not_alike() { alike_ = false; }
  void set_place(std::string place) { place_ = std::move(place); }
  const std::string& place() const { return place_; }

  // --- functions ---
  /// The keys of a function's values when its parameters have these.
  std::vector<Key> keys(const Unit& unit, const Placement& placement,
                        const std::vector<Key>& parameters) const {
    return keys_of(unit, placement, parameters, known_.size() - 1);
  }
  Scope enter(const Unit& unit, const Placement& placement, const std::vector<Key>& keys) const;
  void run_block(Scope& scope, const ir::Block& block);
  /// What is computed from here on is known until leave_iteration(), and not after it.
  /// What is compiled from here on is another turn of a pipeline's stage, or comes after it.
  void next_turn() { ++turn_; }
  /// The next turn does this work of a stage along the axis.
  void next_turn(const Axis& axis, const schedule::Work& work) {
    stage_axis_ = axis;
    works_[++turn_] = work;
  }
  const std::optional<Axis>& stage_axis() const { return stage_axis_; }
  const std::map<size_t, schedule::Work>& works() const { return works_; }
  void enter_iteration() { known_.emplace_back(); }
  void leave_iteration() { known_.pop_back(); }
  void run_instr(Scope& scope, const ir::Instr& instr);
  /// The function's results for these arguments.
  std::vector<Value> call(const Unit& unit, const Placement& placement,
                          std::vector<Value> arguments, const std::vector<Key>& keys);
  /// `value` of the scope in memory, of its type's local extents.
  Ref ref(Scope& scope, ir::ValueId value);

  /// Compiles `body` into the steps of a loop; the index of its steps is a term of views.
  struct Loop {
    size_t id;
    int64_t times;
    bool reverse;
  };
  Loop new_loop(int64_t times, bool reverse);
  void close_loop(const Loop& loop, std::vector<Step> before, const std::vector<BufferId>& kept);
  std::vector<Step> take_steps() {
    attended_.clear();
    return std::exchange(steps_, {});
  }
  size_t step_count() const { return steps_.size(); }
  /// The steps from `first` on go as far up as what they read allows: it need not be kept until
  /// then.
  void move_up(size_t first);
  /// The number at `ref`, where it is an index.
  std::optional<Affine> affine(const Ref& ref) const;
  /// The largest that it is.
  int64_t most(const Affine& number) const;
  /// Entry i of this buffer is i.
  void counts(const Ref& ref) { counting_.insert(ref.buffer); }
  size_t unroll() const { return unroll_; }

  const Device& device() const { return device_; }
  const FindBackward& find_backward() const { return find_backward_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<BufferId>& externals() const { return externals_; }
  const std::vector<std::vector<int>>& groups() const { return groups_; }
  const std::vector<std::vector<Axis>>& group_axes() const { return group_axes_; }
  size_t loops() const { return loop_times_.size(); }

 private:
  bool take_known(Scope& scope, const std::vector<ir::ValueId>& ids) const;
  void remember(const Scope& scope, const std::vector<ir::ValueId>& ids);

  FindBackward find_backward_;
  Precision precision_;
  const Device& device_;
  std::vector<Piece> pieces_;
  std::vector<BufferId> externals_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> groups_;
  std::vector<std::vector<Axis>> group_axes_;  ///< of each
  std::vector<int64_t> loop_times_;
  std::set<BufferId> counting_;
  bool alike_ = true;
  Masks masks_;
  /// What was computed, to be taken where it is asked for again: outside of loops, then in each of
  /// those that are open.
  std::vector<std::map<Key, Value>> known_{1};
  std::string place_;
  size_t turn_ = 0;
  std::optional<Axis> stage_axis_;
  std::map<size_t, schedule::Work> works_;
  size_t ops_ = 0;
  bool fuses_ = true;
  size_t unroll_ = 1;
  std::vector<Attended> attended_;
};

/// One instruction of a function that is being compiled.
class Site {
 public:
  Site(Compiler& compiler, Scope& scope, const ir::Instr& instr)
      : compiler(compiler), scope(scope), instr(instr) {}

  size_t operands() const { return instr.operands.size(); }
  const Type& type(size_t i) const { return scope.unit.type(instr.operands.at(i)); }
  const Type& result_type(size_t i = 0) const { return scope.unit.type(instr.results.at(i)); }
  const Placement& placement() const { return scope.placement; }
  Element element(size_t result = 0) const { return compiler.element(result_type(result).dtype); }
  std::vector<int64_t> extents(size_t result = 0) const {
    return scope.placement.extents(result_type(result));
  }

  /// Operand i in memory.
  Ref ref(size_t i) const { return compiler.ref(scope, instr.operands.at(i)); }
  const ExpressionPtr& expression(size_t i) const;
  Whole whole(size_t i) const;
  /// A new buffer for result i.
  Ref create(size_t i = 0) const { return compiler.create(element(i), extents(i)); }
  bool wanted(size_t i) const { return instr.results.at(i) != ir::no_value; }
  void define(const Ref& ref, size_t i = 0) const;
  void define(ExpressionPtr expression, size_t i = 0) const;
  /// The result is used more than once, and not from within a loop.
  bool has_several_uses_here() const {
    if (!wanted(0)) return false;
    const int uses = scope.uses.at(instr.results[0]);
    return uses > 1 && uses < many_uses;
  }
  /// Each of its readers computes the result, a chain on values in memory.
  void define_anew_for_each(ExpressionPtr expression) const;

  Compiler& compiler;
  Scope& scope;
  const ir::Instr& instr;
};

}  // namespace shardproof::compile
