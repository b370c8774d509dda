#pragma once
// A pipeline on one rank: its own stage of it, in the order of the schedule.
#include "impl/compile/stage_gradient.h"

namespace shardproof::compile {

/// The `stages` of a pipeline's body. Throws PlanError where there are none, or several.
const ir::Instr& stages_in(const ir::Instr& pipeline, const std::string& place);

/// Its gradient's part, made when the stage is known.
using MakeStageGradient = std::function<std::unique_ptr<StageGradient>(StagePlace, bool has_w)>;

/// Adds the steps of this rank's stage and defines what the pipeline emits; with a gradient, also
/// the backward's, which it returns for its last part.
std::unique_ptr<StageGradient> run_pipeline(const Site& site, const ir::Pipeline& op,
                                            const MakeStageGradient& make_gradient);

/// What value_and_grad of a plan with a pipeline gives: its results, and the gradients.
struct Differentiated {
  std::vector<Value> results, gradients;
};

/// `arguments` and `keys`: of the backward's parameters. Without `with_value` there are no results.
Differentiated differentiate_pipeline(const Site& site, const Unit& of, const Unit& backward,
                                      const std::vector<Value>& arguments,
                                      const std::vector<Key>& keys, bool with_value);

}  // namespace shardproof::compile
