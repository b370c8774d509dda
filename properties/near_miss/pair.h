#pragma once
// Near misses: a plan that is its model but for a token or two. Almost all are wrong, each in its
// own small way; what is proved of them is held to the oracle.
#include <string>
#include <vector>

#include "spec/laws/dice.h"

namespace shardproof::near_miss {

/// The kinds of programs that pairs are made of.
const std::vector<std::string>& families();

/// A file with `fn f` and `plan p implements f`. The same dice give the same pair. `changed`: how
/// many tokens of the plan's body were exchanged; 0 gives the right plan.
struct Pair {
  std::string family;
  std::string text;
  int changed = 0;
};
Pair draw(laws::Dice dice);

}  // namespace shardproof::near_miss
