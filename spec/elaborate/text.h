#pragma once
// Prints types and patterns with the names of the source.
#include <string>

#include "spec/ir/program.h"

namespace shardproof::elaborate {

std::string show(const ir::Program& program, const Dim& dim);
std::string show(const ir::Program& program, const Split& split);
std::string show(const ir::Program& program, const Shape& shape);

/// The left sides of a pattern, brackets included: `[V] M, B L`.
std::string left_text(const ir::Program& program, const ir::Pattern& pattern);
/// `[V] M, B L -> B L M {U_t}`.
std::string pattern_text(const ir::Program& program, const ir::Pattern& pattern);

}  // namespace shardproof::elaborate
