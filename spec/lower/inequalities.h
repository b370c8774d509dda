#pragma once
#include "spec/algebra/algebra.h"
#include "spec/ir/program.h"

namespace shardproof::lower {

/// Which inequalities the function and its callees write; both if an op makes some of its own.
algebra::Inequalities inequalities_of(const ir::Program& program, size_t function);

}  // namespace shardproof::lower
