#pragma once
// The requirements of pipelines, stages and rings on their bodies, in addition to the rules of the
// ops.
#include <optional>
#include <set>

#include "spec/rules/rule.h"

namespace shardproof {

/// The axes over which an instruction communicates, including its callees.
std::set<Axis> communicates_over(const ir::Program& program, const ir::Op& op);

/// E0221: `op` in the body of `loop` communicates over the loop's axis.
std::optional<Refusal> refuse_communication(const ir::Program& program, const ir::Op& op,
                                            const ir::Op& loop);

/// E0222: a carry of a ring is neither split nor unreduced over the ring's axis.
std::optional<Refusal> refuse_carry(const Name& name, const Type& carry, const ir::Ring& ring);

/// E0224: no position of what a ring emits is its block, or one has the dim of all blocks.
Refusal refuse_emitted(const ir::Program& program, const Name& name, const ir::Ring& ring);

/// E0206, E0221: k[b] is not a block that the ring passes on.
std::optional<Refusal> refuse_entry(const ir::Program& program, const Name& name, ir::ValueId value,
                                    const Type& type, const Dim& dim, const ir::Ring& ring);

/// A value in a pipeline's body that does not exist on the stage that uses it.
struct Misplaced {
  Refusal refusal;
  SourceRange range;
  std::optional<Label> origin;
};

/// E0223: values in the body that are split or marked over the pipeline's axis, except entries of a
/// stage's own layers, and what the stages emit where the pipeline emits it; and values bound
/// before `stages` that are used anywhere but in its first carries.
std::vector<Misplaced> misplaced_values(const ir::Program& program, const ir::Function& function,
                                        const std::vector<Type>& types,
                                        const std::vector<bool>& poisoned,
                                        const ir::Pipeline& pipeline);

/// The type of t[n] in `stages n in N` of a pipeline over `axis` (an entry of the stage's own), and
/// of x[b] in a ring over b (the current block). Nullopt: an ordinary entry.
std::optional<Type> entry_in_loop(const ir::Program& program, const Type& type, const Dim& dim,
                                  const ir::Op& loop, const Axis& axis);

/// Whether stage s of the pipeline's axis holds its own entries of this dim.
bool has_own_entries(const ir::Program& program, const Split& split, const ir::Stages& stages,
                     const Axis& axis);

}  // namespace shardproof
