#pragma once
// Completion of a mutant: what its text says of types is rewritten to what the rules give.
#include "spec/ir/program.h"

namespace shardproof::faults {

/// Rewrites patterns and stated types of the body: left sides and stated types to what the values
/// are, right sides to what the rule makes of them; a collective does to its new operand what it
/// did to the old one; a created tensor takes the axes of what it goes with; a carry the type that
/// its body ends with, where its start can have it. Signatures stay. What cannot be completed stays
/// as it was, for the rule to refuse.
void complete(const ir::Program& program, ir::Function& function, bool is_step);

}  // namespace shardproof::faults
