#pragma once
// Compiles a checked plan to the steps of one rank. The file of each op adds its steps through a
// Site.
#include <memory>
#include <set>
#include <unordered_map>

#include "impl/compile/attended.h"
#include "impl/compile/expression.h"
#include "impl/compile/gathers.h"
#include "impl/compile/keys.h"
#include "impl/compile/masks.h"
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"
#include "spec/diag/diagnostic.h"
#include "spec/schedule/schedule.h"
#include "spec/syntax/ast.h"

namespace shardproof::compile {

/// A function of a program, with the types of its values.
struct Unit {
  const ir::Program* program = nullptr;
  const std::vector<std::vector<Type>>* types = nullptr;  ///< by function, by value
  const Sources* sources = nullptr;
  size_t function = 0;
  /// Plans with pipelines as written, and their schedules; null: pipelines are not compiled.
  const std::map<size_t, ir::Function>* written = nullptr;
  const syntax::Schedules* schedules = nullptr;

  const ir::Function& plan() const {
    return has_pipeline() ? written->at(function) : program->functions.at(function);
  }
  bool has_pipeline() const { return written && written->contains(function); }
  const Type& type(ir::ValueId value) const { return types->at(function).at(value); }
};

/// Finds the backward of a plan of `unit` with respect to leaf parameters; it follows the plan in a
/// separate program.
using FindBackward = std::function<Unit(const Unit& plan, const std::vector<size_t>& wrt)>;

/// The local extents of a function's values.
class Extents {
 public:
  Extents(const Unit& unit, const Placement& placement);
  /// Throws PlanError where it does not divide.
  const std::vector<int64_t>& of(ir::ValueId value) const {
    if (!all_.at(value)) placement_.extents(unit_.type(value));  // throws
    return *all_[value];
  }

 private:
  Unit unit_;
  Placement placement_;
  std::vector<std::optional<std::vector<int64_t>>> all_;
};

/// A function on a mesh: what all ranks have in common.
struct OnMesh {
  OnMesh(const Unit& unit, const Mesh& mesh, const DimSizes& dims);

  Unit unit;
  Placement placement;  ///< of rank 0
  std::shared_ptr<const Extents> extents;
  std::vector<int> uses;  ///< as in Scope
  std::vector<Key> keys;  ///< of the values that may equal others
};

/// A value of a function during compilation: a number, a pending fused chain, or a view of a
/// buffer.
struct CompiledValue {
  ExpressionPtr expression;  ///< a leaf, a constant, or a pending fused chain
  bool known() const { return expression != nullptr; }
};

constexpr int many_uses = 1 << 16;

/// A value in memory: the dims of the view are the positions of its type.
CompiledValue in_memory(Ref ref);

/// A function being compiled.
struct Scope {
  Unit unit;
  Placement placement;
  std::shared_ptr<const Extents> extents;
  std::vector<CompiledValue> values;
  std::vector<int> uses;  ///< more than one: computed at once; uses in a loop count as many
  std::vector<Key> keys;  ///< of the values
  std::vector<ExpressionPtr> fitting =
      std::vector<ExpressionPtr>(values.size());  ///< compared with the types' local extents
  /// By tensor and index of a ring: the block that this rank currently holds.
  std::map<std::pair<ir::ValueId, ir::ValueId>, Ref> blocks = {};
};

class Compiler {
 public:
  Compiler(FindBackward find_backward, Precision precision, const Device& device)
      : find_backward_(std::move(find_backward)), precision_(precision), device_(device) {}

  // --- buffers ---
  /// A new contiguous buffer.
  Ref create(Element element, std::vector<int64_t> extents);
  /// A buffer that the caller passes to each run.
  Ref external(Element element, std::vector<int64_t> extents);
  /// Whether it is a whole buffer of the arena, row-major.
  bool is_whole(const Ref& ref) const;
  /// Declares a buffer whose memory the caller passes to each run.
  void give(BufferId buffer) { externals_.push_back(buffer); }
  Element element(Dtype dtype) const { return element_of(dtype, precision_); }

  // --- steps ---
  /// Adds a step; its caller makes it a kernel, a fused kernel or an exchange.
  Step& step(std::string_view op, std::vector<BufferId> reads, std::vector<BufferId> writes);
  void exchange(std::string_view name, Exchange&& exchange);
  void kernel(std::string_view name, KernelOp op, const Ref& out, std::vector<Ref> inputs);
  /// Whether the device supports the op, and fusion is enabled.
  bool fuses(const FusedOp& op) const { return fuses_ && device_.has_fused(op); }
  void set_fuses(bool on) { fuses_ = on; }
  void set_unroll(size_t iterations) { unroll_ = iterations; }
  /// Allocates the op's scratch outputs and returns them.
  std::vector<Ref> fused(std::string_view name, const FusedOp& op, std::vector<Ref> outputs,
                         std::vector<Ref> inputs);
  Attentions& attentions() { return attentions_; }
  const Masks& masks() const { return masks_; }
  Gathers& gathers() { return gathers_; }
  /// to = from, entry by entry, with conversion between elements. The extents are equal.
  void move(std::string_view op, const Ref& from, const Ref& to);
  /// `ref` itself, or a packed copy of it in `element`.
  Ref packed(const Ref& ref, Element element);
  /// Computes the expression along positions with these local extents.
  Ref compute(const ExpressionPtr& expression, Element element,
              const std::vector<int64_t>& extents);
  void compute_into(const ExpressionPtr& expression, const Ref& to);
  /// The index of this rank's group along the axes; the group has more than one member.
  size_t group(const std::vector<int>& ranks, const std::vector<Axis>& axes);
  /// Whether all ranks have the same steps, except for the offsets of views.
  bool alike() const { return alike_; }
  void set_not_alike() { alike_ = false; }
  void set_place(std::string place) {
    here_.reset();
    place_ = std::move(place);
  }
  /// The place of the op that is compiled: `ffn.shard:12 in ffn_sharded: einsum`.
  const std::string& place() const {
    if (here_) place_ = text_of(*std::exchange(here_, {}));
    return place_;
  }

  // --- functions ---
  /// The keys of a function's values for these keys of its parameters.
  std::vector<Key> keys(const Unit& unit, const Placement& placement,
                        const std::vector<Key>& parameters) const {
    return keys_of(unit, placement, parameters, known_.size() - 1);
  }
  /// `keys`: of the parameters.
  Scope enter(const Unit& unit, const Placement& placement, const std::vector<Key>& keys) const;
  void run_block(Scope& scope, const ir::Block& block);
  /// Starts the next turn of a pipeline's stage, or what follows the pipeline.
  void next_turn() { ++turn_; }
  /// The next turn does this work of the stage along the axis.
  void next_turn(const Axis& axis, const schedule::Work& work) {
    stage_axis_ = axis;
    works_[++turn_] = work;
  }
  const std::optional<Axis>& stage_axis() const { return stage_axis_; }
  std::map<size_t, schedule::Work> take_works() { return std::move(works_); }
  void enter_iteration() { known_.emplace_back(); }
  void leave_iteration() { known_.pop_back(); }
  void run_instr(Scope& scope, const ir::Instr& instr);
  /// Compiles the function's results for these arguments.
  std::vector<CompiledValue> call(const Unit& unit, const Placement& placement,
                                  const std::vector<CompiledValue>& arguments,
                                  const std::vector<Key>& keys) {
    return run(enter(unit, placement, keys), arguments);
  }
  /// The same for the plan's own function.
  std::vector<CompiledValue> call(const OnMesh& function, int64_t rank,
                                  const std::vector<CompiledValue>& arguments);
  /// `value` in memory, with its type's local extents.
  const Ref& ref(Scope& scope, ir::ValueId value);

  /// A loop; `body` is compiled into its steps. Views may depend on its index.
  struct Loop {
    size_t id;
    int64_t times;
    bool reverse;
  };
  Loop new_loop(int64_t times, bool reverse);
  void close_loop(const Loop& loop, std::vector<Step> before, const std::vector<BufferId>& kept);
  std::vector<Step> take_steps() {
    attentions_.leave();
    return std::exchange(steps_, {});
  }
  size_t step_count() const { return steps_.size(); }
  /// Moves the steps from `first` as early as their operands allow, so that those need not stay
  /// live.
  void move_up(size_t first);
  /// The number at `ref`, if it depends on loop indices only.
  std::optional<Affine> affine(const Ref& ref) const;
  /// Its maximum over the loops.
  int64_t most(const Affine& number) const;
  /// Records that entry i of this buffer is i.
  void counts(const Ref& ref) { counting_.insert(ref.buffer); }
  size_t unroll() const { return unroll_; }

  const Device& device() const { return device_; }
  const FindBackward& find_backward() const { return find_backward_; }
  std::vector<Piece> take_pieces() { return std::move(pieces_); }
  std::vector<BufferId> take_externals() { return std::move(externals_); }
  std::vector<std::vector<int>> take_groups() { return std::move(groups_); }
  std::vector<std::vector<Axis>> take_group_axes() { return std::move(group_axes_); }
  size_t loops() const { return loop_times_.size(); }

 private:
  /// An op of a unit. Most have no step of their own, and need no text.
  struct Here {
    Unit unit;
    SourceRange range;
    const char* op;
  };
  static std::string text_of(const Here& here);
  std::vector<CompiledValue> run(Scope scope, const std::vector<CompiledValue>& arguments);
  const CompiledValue* find_known(const Key& key) const;
  bool take_known(Scope& scope, const std::vector<ir::ValueId>& ids) const;
  void remember(const Scope& scope, const std::vector<ir::ValueId>& ids);

  FindBackward find_backward_;
  Precision precision_;
  const Device& device_;
  std::vector<Piece> pieces_;
  std::vector<BufferId> externals_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> groups_;
  std::vector<std::vector<Axis>> group_axes_;  ///< by group
  std::vector<int64_t> loop_times_;
  std::set<BufferId> counting_;
  bool alike_ = true;
  Masks masks_;
  /// Common subexpressions: values computed outside of loops, then in each open
  /// loop.
  std::vector<std::unordered_map<Key, CompiledValue, KeyHash>> known_{1};
  mutable std::string place_;
  mutable std::optional<Here> here_;  ///< if place_ is not written yet
  size_t turn_ = 0;
  std::optional<Axis> stage_axis_;
  std::map<size_t, schedule::Work> works_;
  size_t ops_ = 0;
  bool fuses_ = true;
  size_t unroll_ = 1;
  Attentions attentions_;
  Gathers gathers_;
};

/// One instruction of the function being compiled.
class Site {
 public:
  Site(Compiler& compiler, Scope& scope, const ir::Instr& instr)
      : compiler(compiler), scope(scope), instr(instr) {}

  size_t operands() const { return instr.operands.size(); }
  const Type& type(size_t i) const { return scope.unit.type(instr.operands.at(i)); }
  const Type& result_type(size_t i = 0) const { return scope.unit.type(instr.results.at(i)); }
  const Placement& placement() const { return scope.placement; }
  Element element(size_t result = 0) const { return compiler.element(result_type(result).dtype); }
  const std::vector<int64_t>& extents(size_t result = 0) const {
    return scope.extents->of(instr.results.at(result));
  }

  /// Operand i in memory.
  const Ref& ref(size_t i) const { return compiler.ref(scope, instr.operands.at(i)); }
  const ExpressionPtr& expression(size_t i) const;
  Whole whole(size_t i) const;
  /// A new buffer for result i.
  Ref create(size_t i = 0) const { return compiler.create(element(i), extents(i)); }
  bool wanted(size_t i) const { return instr.results.at(i) != ir::no_value; }
  void define(Ref made, size_t i = 0) const;
  void define(ExpressionPtr expression, size_t i = 0) const;
  /// Whether the result has several uses, none of them in a loop.
  bool has_several_uses_here() const {
    if (!wanted(0)) return false;
    const int uses = scope.uses.at(instr.results[0]);
    return uses > 1 && uses < many_uses;
  }
  /// Each reader recomputes the result, a chain on values in memory.
  void define_anew_for_each(ExpressionPtr expression) const;

  Compiler& compiler;
  Scope& scope;
  const ir::Instr& instr;
};

}  // namespace shardproof::compile
