#pragma once
#include "spec/ir/program.h"

namespace shardproof::lower {

/// A second copy of a block of the function: its parameters, and the values that it makes, are new
/// ones.
ir::Block copied_block(ir::Function& function, const ir::Block& block);

}  // namespace shardproof::lower
