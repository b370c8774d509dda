#pragma once
// `--run NAME`: evaluates one function of a file on given tensors.
#include <ostream>
#include <string>

#include "impl/program.h"
#include "spec/cost/cost.h"

namespace shardproof::cli {

/// Evaluates `name` on the tensors of the safetensors file `inputs`, which are named like the
/// parameters ("x", "w.ln"), and writes `outputs`: results by name, or "0", "1", .. if they have
/// none. Without `outputs` they are printed. Tensors are whole, in F64, I32 or BOOL; dims that have
/// no size in `sizes` have that of the tensors. The oracle evaluates a function, in double; the
/// core runs a plan, in double, with one thread per device. Throws std::runtime_error if a tensor
/// is missing or does not fit, or if the plan cannot run.
void evaluate_function(const Program& program, const std::string& name, const cost::Sizes& sizes,
                       const std::string& inputs, const std::string& outputs, std::ostream& out);

}  // namespace shardproof::cli
