#pragma once
// --set: a const has another value, in the model as in the plan.
#include <map>

#include "spec/ir/program.h"

namespace shardproof {

/// Gives consts, and all that is made of them, these values; names that are no const are passed
/// over.
void set_consts(ir::Program& program, const std::map<Name, double>& set);

}  // namespace shardproof
