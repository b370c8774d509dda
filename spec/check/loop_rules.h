#pragma once
// What pipelines, stages and rings ask of their bodies, beyond the rules of the ops in them.
#include <optional>
#include <set>

#include "spec/rules/rule.h"

namespace shardproof {

/// The axes over which devices exchange data in one instruction, those of its callees included.
std::set<Axis> communicates_over(const ir::Program& program, const ir::Op& op);

/// E0221: `op` in the body of `loop` exchanges data over the axis that the loop runs over.
std::optional<Refusal> refuse_communication(const ir::Program& program, const ir::Op& op,
                                            const ir::Op& loop);

/// E0222: a carry of a ring is neither split nor unreduced over its axis.
std::optional<Refusal> refuse_carry(const Name& name, const Type& carry, const ir::Ring& ring);

/// E0206, E0221: k[b] is not a block that the ring passes on.
std::optional<Refusal> refuse_entry(const ir::Program& program, const Name& name, ir::ValueId value,
                                    const Type& type, const Dim& dim, const ir::Ring& ring);

/// A pipeline's body uses a value that the stage of that line does not have.
struct Misplaced {
  Refusal refusal;
  SourceRange range;
  std::optional<Label> origin;
};

/// E0223: values of the body that are split or marked over the pipeline's axis, but for entries of
/// a stage's own layers; and values bound before `stages` that are used elsewhere than in its first
/// carries.
std::vector<Misplaced> misplaced_values(const ir::Program& program, const ir::Function& function,
                                        const std::vector<Type>& types,
                                        const std::vector<bool>& poisoned,
                                        const ir::Pipeline& pipeline);

/// t[n] inside `stages n in N` of a pipeline over `axis`: the entry that the stage has itself. x[b]
/// inside a ring over b: the block that the ring brings. Nothing: an entry like any other.
std::optional<Type> entry_in_loop(const ir::Program& program, const Type& type, const Dim& dim,
                                  const ir::Op& loop, const Axis& axis);

/// Whether stage s of the pipeline's axis has the entries of this dim that are its own.
bool has_own_entries(const ir::Program& program, const Split& split, const ir::Stages& stages,
                     const Axis& axis);

}  // namespace shardproof
