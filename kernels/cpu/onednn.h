#pragma once
// Products of f32 and bf16 matrices by oneDNN, which chooses kernels for the processor at run
// time.
#include "kernels/cpu/matrix.h"

namespace shardproof::cpu {

/// c[i, j] = sum over p of a[i, p] b[p, j]; with `adds`, added to c. c is row-major with rows
/// `c_row` entries apart. Runs in the calling thread only, with the same bits on every call.
/// Returns false and does nothing if oneDNN is not found or does not support these strides.
bool onednn_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b,
                    float* c, int64_t c_row, bool adds);

/// c[i, j] = sum over p of a[i, p] b[p, j], summed in f32; with `adds`, added to c. With `rounds`,
/// c is bf16, rounded once; else f32. Otherwise as above, if the level has bf16 instructions.
/// Subnormal numbers may count as 0.
bool onednn_product(int64_t m, int64_t n, int64_t k, const Bf16Matrix& a, const Bf16Matrix& b,
                    void* c, int64_t c_row, bool rounds, bool adds);

/// The library's version, such as "oneDNN 2.6.3"; empty if it is not found.
const char* onednn_version();

}  // namespace shardproof::cpu
