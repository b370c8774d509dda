#pragma once
// Rewritings of a program that change no value: what a verdict must not depend on.
#include <functional>
#include <random>
#include <set>

#include "spec/syntax/parser.h"

namespace shardproof::properties {

using Rewrite = std::function<void(syntax::File&, std::mt19937&)>;

/// Every value bound in a body gets another name; parameters, results and saved values keep theirs.
void rename_values(syntax::File& file, std::mt19937& rng);

/// Adjacent lines of which neither uses the other change places.
void swap_independent_lines(syntax::File& file, std::mt19937& rng);

/// a + b becomes b + a, a * b becomes b * a, at random places.
void commute(syntax::File& file, std::mt19937& rng);

}  // namespace shardproof::properties
