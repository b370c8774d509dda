#pragma once
// The derived backward of a plan with a pipeline, read as what the stages do. Its proved text is
// of loops: over microbatches, in them over chunks and layers, a forward scan that saves the
// layers' inputs and a scan back. Each stage does its own layers of both; what the loops only add
// up, each stage adds up by itself.
#include "impl/compile/compiler.h"
#include "impl/compile/sliced.h"

namespace shardproof::compile {

/// The body of a loop, and the two loops that are in it: level 0 is the plan, whose loop back is
/// the one over microbatches; the last level is a layer, which has none.
struct Level {
  const ir::Block* block = nullptr;
  const ir::Instr* forward = nullptr;  ///< null where nothing that it saves is needed
  const ir::Instr* backward = nullptr;
  std::vector<size_t> travel;  ///< carries of `backward` that go from stage to stage

  Instrs loops() const { return {forward, backward}; }
  const ir::Block& back_body() const { return *std::get<ir::Scan>(backward->op).body; }
};

/// A term of a gradient: a value of a level, for each iteration of the loops in `rows`, which are
/// the result's leading positions.
struct Source {
  size_t level = 0;
  ir::ValueId value = ir::no_value;
  bool at_first = false;     ///< level 1: of the first stage, after its layers; else of the last
  std::vector<size_t> rows;  ///< levels
};

/// A result of the loop over microbatches: the sum of its terms on all stages.
struct Target {
  ir::ValueId result = ir::no_value;
  std::vector<Source> sources;
  const ir::Instr* scattered = nullptr;  ///< by this: each stage has its own layers'
  /// The value that each stage makes.
  ir::ValueId id() const { return scattered ? scattered->results[0] : result; }
};

class StageLevels {
 public:
  /// `stages`: of the plan as it is written, `of`, where `scans` is the loop that stands for it.
  /// Throws PlanError, with the reason, where the backward is of another form.
  StageLevels(const Unit& of, const std::vector<Key>& keys, const ir::Instr& pipeline,
              const ir::Instr& stages, const Unit& backward, const std::vector<Key>& back_keys);

  std::vector<Level> levels;
  std::vector<Target> targets;
  /// Values that stand for others: layers that are gathered in the text, and upstreams that are
  /// zero on all but one stage there.
  std::map<ir::ValueId, ir::ValueId> same;
  Instrs replaced;  ///< what makes the values of `same` and of `emitted`
  /// Values that the text computes again though the pipeline has emitted them: which result it is.
  /// Only what comes after the loop back reads them.
  std::map<ir::ValueId, size_t> emitted;
  std::vector<std::vector<Type>> types;  ///< with a stage's own layers for those of all stages

  /// The loop that runs a stage's layers forward and saves what their backward reads; may be null.
  const ir::Instr* layers() const { return levels[levels.size() - 2].forward; }
  const Level& layer() const { return levels.back(); }
  /// Values of a level that its sources need.
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
