#pragma once
// Reductions over ranks on the CPU.
#include "kernels/element.h"

namespace shardproof {

/// out[i] = ((sources[0][i] + sources[1][i]) + sources[2][i]) + .., or max, or min, of `count`
/// entries each. `out` overlaps no source; n >= 1. bf16 is summed in f32 and rounded once at the
/// end; integers wrap; a NaN in any source gives NaN.
void reduce_ranks(Element element, Reduction reduction, const void* const* sources, int n,
                  void* out, size_t count);

}  // namespace shardproof
