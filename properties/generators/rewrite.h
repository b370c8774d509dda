#pragma once
// Rewritings of a program that change no value: what a verdict must not depend on.
#include <functional>
#include <set>

#include "spec/laws/dice.h"
#include "spec/syntax/parser.h"

namespace shardproof::properties {

using Rewrite = std::function<void(syntax::File&, laws::Dice&)>;

/// Every value bound in a body gets another name, and so does a carry of that name; parameters,
/// results and saved values keep theirs.
void rename_values(syntax::File& file, laws::Dice& dice);

/// Adjacent lines of which neither uses the other change places, where the dice show 1 of 2; but
/// for `stages`.
void swap_independent_lines(syntax::File& file, laws::Dice& dice);

/// a + b becomes b + a, a * b becomes b * a, where the dice show 1 of 2.
void commute(syntax::File& file, laws::Dice& dice);

}  // namespace shardproof::properties
