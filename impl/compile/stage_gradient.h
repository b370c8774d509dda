#pragma once
// The gradient of a pipeline on one stage: the part of the derived backward in each F, B and W of
// its schedule.
#include "impl/compile/stage_levels.h"
#include "impl/compile/turns.h"

namespace shardproof::compile {

/// A stage, and its number of layers.
struct StagePlace {
  size_t stage = 0, stages = 1;
  int64_t layers = 1;                ///< per chunk, on each stage
  std::vector<int64_t> chunk_sizes;  ///< of the dims of `stages`, except the last
  int64_t chunks() const;
  std::vector<int64_t> chunk_index(int64_t chunk) const;
  bool is_last() const { return stage + 1 == stages; }
  /// The global index of its layer n.
  int64_t layer(int64_t n) const { return static_cast<int64_t>(stage) * layers + n; }
};

class StageGradient {
 public:
  /// `scope`: the backward's; its types become those of `levels`.
  StageGradient(Compiler& compiler, Scope& scope, StageLevels& levels, StagePlace place,
                bool has_w);

  /// Runs the part of the backward that does not need the pipeline.
  void before();
  /// The stage's layers forward: updates the carries and saves what the backward reads. False,
  /// without any steps, if it reads nothing.
  bool layers(const Chunk& chunk, std::vector<Ref>& carries);
  /// After the last forward of a microbatch: the cotangents of the last stage's results.
  std::vector<Ref> upstream(int64_t microbatch, const std::vector<Ref>& carries);
  /// The layers backward: from the cotangents of their carries to those of their inputs.
  std::vector<Ref> back(const Chunk& chunk, std::vector<Ref> gradients);
  /// Computes what a B leaves to its W.
  void weights(const Chunk& chunk);
  /// Buffers for the cotangents that arrive in a message.
  std::vector<Ref> create_message() const;
  /// All gradients, after the end of the schedule. `emitted`: the pipeline's results.
  std::vector<CompiledValue> after(const std::vector<CompiledValue>& emitted);

 private:
  struct Left {
    int64_t layer = 0;
    std::map<ir::ValueId, CompiledValue> values;
  };
  using Row = std::vector<int64_t>;
  /// A target's gradient: the sum of its first source, then of all; and its number of rows.
  struct Result {
    bool is_made = false;
    Ref ref;
    std::set<Row> rows;
  };

  void set_indices(const Chunk& chunk);
  void set(ir::ValueId id, const Ref& ref) { scope_.values.at(id) = in_memory(ref); }
  void run(const ir::Block& block, const ValueIds& needs);
  void run_outer(const ValueIds& needs);
  void add(size_t level, bool at_first);
  void add(size_t target, CompiledValue& sum, const Ref& term) const;
  void add_in_place(size_t target, const Row& row, const Ref& term);
  int64_t rows_here(const std::vector<size_t>& levels) const;
  void create(size_t target, int64_t rows);
  Ref part_of(size_t target, const Row& row) const;
  void forget();
  Ref assemble(size_t target);
  const Level& first_level() const { return levels_.levels.at(1); }
  /// The level of the backward loop over layers.
  const Level& inner() const { return levels_.levels.at(levels_.levels.size() - 2); }
  const ir::Block& layer() const { return *levels_.layer().block; }

  Compiler& compiler_;
  Scope& scope_;
  StageLevels& levels_;
  const StagePlace place_;
  const bool has_w_;
  std::unique_ptr<Slice> before_;
  std::map<Chunk, std::vector<Ref>> saved_;  ///< stacks over the stage's layers
  std::map<Chunk, std::vector<Left>> left_;
  std::vector<int64_t> indices_;  ///< of the loops of all levels
  std::vector<Result> results_;
  /// By target and source, except the first: the order of a sum must not depend on the
  /// schedule.
  std::vector<std::vector<std::map<Row, CompiledValue>>> sums_;
};

}  // namespace shardproof::compile
