#pragma once
// --set: gives a const another value, in the model and in the plan.
#include <map>

#include "spec/ir/program.h"

namespace shardproof {

/// Gives consts, and all that depends on them, these values. Names that are not consts are
/// ignored.
void set_consts(ir::Program& program, const std::map<Name, double>& set);

}  // namespace shardproof
