#pragma once
// Notes on correct plans. They never change a verdict.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// L0001: all_reduces whose results are used only linearly and then sliced (one psum_scatter
/// suffices) or added (one reduction of the sum suffices), with the bytes of both. L0002: a
/// reduction in a narrower dtype than its result is cast to. `types`: final, by value.
std::vector<Diagnostic> notes_of(const ir::Program& program, size_t function,
                                 const std::vector<Type>& types);

}  // namespace shardproof
