#pragma once
// The derived backward of a plan with a pipeline, split by stage. Its proved text has loops over
// microbatches, then over chunks and layers: a forward scan that saves the layers' inputs, and a
// backward scan. Each stage runs its own layers of both; sums in the loops are accumulated per
// stage.
#include "impl/compile/compiler.h"
#include "impl/compile/sliced.h"

namespace shardproof::compile {

/// The body of a loop, and the two loops in it. Level 0 is the plan; its backward loop runs over
/// microbatches. The last level is a layer, which has no loops.
struct Level {
  const ir::Block* block = nullptr;
  const ir::Instr* forward = nullptr;  ///< null if nothing that it saves is needed
  const ir::Instr* backward = nullptr;
  std::vector<size_t> travel;  ///< carries of `backward` that are passed between stages

  Instrs loops() const { return {forward, backward}; }
  const ir::Block& back_body() const { return *std::get<ir::Scan>(backward->op).body; }
};

/// A term of a gradient: a value of a level, for each iteration of the loops in `rows`, which are
/// the result's leading positions.
struct Source {
  size_t level = 0;
  ir::ValueId value = ir::no_value;
  bool at_first = false;     ///< level 1: on the first stage, after its layers; else on the last
  std::vector<size_t> rows;  ///< levels
};

/// A result of the loop over microbatches: the sum of its terms on all stages.
struct Target {
  ir::ValueId result = ir::no_value;
  std::vector<Source> sources;
  const ir::Instr* scattered = nullptr;  ///< by this: each stage has its own layers'
  /// The value that each stage computes.
  ir::ValueId id() const { return scattered ? scattered->results[0] : result; }
};

class StageLevels {
 public:
  /// `stages`: in the plan `of` as written; `scans` is the loop that replaces it. Throws PlanError
  /// with the reason if the backward has another form.
  StageLevels(const Unit& of, const std::vector<Key>& keys, const ir::Instr& pipeline,
              const ir::Instr& stages, const Unit& backward, const std::vector<Key>& back_keys);

  std::vector<Level> levels;
  std::vector<Target> targets;
  /// Values that are replaced: layers that the text gathers, and cotangents that are zero on all
  /// but one stage.
  std::map<ir::ValueId, ir::ValueId> same;
  Instrs replaced;  ///< they define the values in `same` and `emitted`
  /// Values that the text recomputes although the pipeline emits them, by result. Only code after
  /// the backward loop reads them.
  std::map<ir::ValueId, size_t> emitted;
  std::vector<std::vector<Type>> types;  ///< with the stage's layers instead of all layers

  /// The loop that runs a stage's layers forward and saves what their backward reads; may be null.
  const ir::Instr* layers() const { return levels[levels.size() - 2].forward; }
  const Level& layer() const { return levels.back(); }
  /// Values of a level on which its sources depend.
  ValueIds wanted(size_t level, bool at_first) const;

 private:
  void find_loops(const ir::Pipeline& pipeline, const ir::Stages& stages);
  void find_emitted(const ir::Instr& pipeline);
  const ir::Instr* loop_in(const ir::Block& block, const Dim& dim, bool reverse) const;
  void find_travel();
  void require_same_forward(const ir::Instr& stages) const;
  void require_chain(size_t level) const;
  void find_replaced(const Axis& axis);
  void localize(const Axis& axis);
  void find_targets(const Axis& axis);
  const ir::Instr* scatter_of(ir::ValueId result, const Axis& axis) const;
  Source source_of(size_t level, ir::ValueId value, const std::vector<size_t>& rows) const;
  void resolve(size_t level, ir::ValueId value, const std::vector<size_t>& rows,
               std::vector<Source>& sources, ir::ValueId skipped = ir::no_value) const;
  bool is_total(size_t level, size_t carry) const;
  ValueIds upstreams() const;
  bool read_only_in_loops(ir::ValueId value, bool as_entry) const;
  [[noreturn]] void refuse(const std::string& why) const;
  const Type& type(ir::ValueId id) const { return types.at(unit_.function).at(id); }

  const Unit of_, unit_;
  const std::vector<Key>&keys_, &back_keys_;
};

}  // namespace shardproof::compile
