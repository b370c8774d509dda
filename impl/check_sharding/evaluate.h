#pragma once
// `--run NAME`: the value of one function of a file on given tensors.
#include <string>

#include "impl/program.h"
#include "spec/cost/cost.h"

namespace shardproof::cli {

/// Evaluates `name` on the tensors of the safetensors file `inputs`, by the names of the parameters
/// ("x", "w.ln"), and writes those of `outputs`: results by name, or "0", "1", .. where they have
/// none. Whole tensors, in F64, I32 or BOOL. A fn is evaluated by the oracle, in double; a plan is
/// run by the core, in double, on one thread per device. Throws std::runtime_error with what is
/// missing or does not fit, and where a plan cannot be run.
void evaluate_function(const Program& program, const std::string& name, const cost::Sizes& sizes,
                       const std::string& inputs, const std::string& outputs);

}  // namespace shardproof::cli
