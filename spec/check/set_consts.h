#pragma once
// --set: gives a const another value, in the model and in the plan.
#include <map>

#include "spec/ir/program.h"

namespace shardproof {

/// Sets these consts and recomputes everything that depends on them. Ignores names that are not
/// consts.
void set_consts(ir::Program& program, const std::map<Name, double>& set);

}  // namespace shardproof
