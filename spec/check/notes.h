#pragma once
// Notes on correct plans. They never change a verdict.
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

/// L0001: all_reduces whose results are only used linearly and then sliced (one psum_scatter after
/// is enough) or added (reduce the sum once), with the bytes of both. L0002: a sum over devices in
/// a dtype narrower than the one it is widened to afterwards. `types`: final, by value.
std::vector<Diagnostic> notes_of(const ir::Program& program, size_t function,
                                 const std::vector<Type>& types);

}  // namespace shardproof
