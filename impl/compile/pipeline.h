#pragma once
// A pipeline on one rank: its stage's work, in the order of the schedule.
#include "impl/compile/stage_gradient.h"

namespace shardproof::compile {

/// The `stages` in a pipeline's body. Throws PlanError unless there is exactly one.
const ir::Instr& stages_in(const ir::Instr& pipeline, const std::string& place);

/// Creates the part for the gradient once the stage is known.
using MakeStageGradient = std::function<std::unique_ptr<StageGradient>(StagePlace, bool has_w)>;

/// Adds the steps of this rank's stage and defines the pipeline's results. With a gradient, adds
/// the backward's steps too, and returns it for its last part.
std::unique_ptr<StageGradient> run_pipeline(const Site& site, const ir::Pipeline& op,
                                            const MakeStageGradient& make_gradient);

/// The results of value_and_grad of a plan with a pipeline, and the gradients.
struct Differentiated {
  std::vector<CompiledValue> results, gradients;
};

/// `arguments` and `keys` are those of the backward's parameters. Without `with_value`, no results.
Differentiated differentiate_pipeline(const Site& site, const Unit& of, const Unit& backward,
                                      const std::vector<CompiledValue>& arguments,
                                      const std::vector<Key>& keys, bool with_value);

}  // namespace shardproof::compile
