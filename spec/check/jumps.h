#pragma once
#include "spec/ir/program.h"

namespace shardproof {

/// Whether rounding can move a value of the plan or its model far: it, or what it calls, compares
/// or rounds reals, chooses by their order, or differentiates.
bool may_jump(const ir::Program& program, size_t plan);

}  // namespace shardproof
