#pragma once
// Programs of one op whose pattern has aliases, groups, opened groups, renames and any order: what
// the elaboration of patterns is tried on.
#include <string>

#include "spec/laws/dice.h"

namespace shardproof::patterns {

/// A file with `fn f` and `plan p implements f`, the same op with axes. The same dice give the
/// same program. Most are right; the others are to be refused.
/// `opened`: the same program with `K D` in place of every group, in types and patterns, so that
/// nothing is opened or put together; empty where the op works along a group.
std::string one_op(laws::Dice dice, bool opened = false);

}  // namespace shardproof::patterns
