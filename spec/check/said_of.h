#pragma once
// What the derived backward of a plan assumes, said of the plan that takes its gradient.
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// The assumptions of the gradient that `grad`, an instruction of `plan`, takes; null: its own. One
/// that names a parameter says the same of `plan` if that is given the entries of the parameter of
/// that name here; else it says whose gradient it is of.
std::vector<std::string> said_of(const ir::Program& program, std::vector<std::string> assumptions,
                                 const ir::Function& plan, const ir::Instr* grad);

}  // namespace shardproof
