#pragma once
// Products of f32 and of bf16 matrices by oneDNN, which has kernels for the processor that it runs
// on.
#include "kernels/ops.h"

namespace shardproof::cpu {

/// One of the matrices of a product: at least one of the strides is 1, or its extent is.
struct F32Matrix {
  const float* data = nullptr;
  MatrixStrides strides;
};

/// c[i, j] = sum over p of a[i, p] b[p, j], and c's old entries too where `adds`; c is row-major,
/// its rows `c_row` apart. In the calling thread alone, with the same bits on every call. False,
/// and nothing done, if oneDNN is not found or has no product with such strides.
bool onednn_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b,
                    float* c, int64_t c_row, bool adds);

/// The same of bf16.
struct Bf16Matrix {
  const uint16_t* data = nullptr;
  MatrixStrides strides;
};

/// c[i, j] = sum over p of a[i, p] b[p, j], summed in f32, and c's old entries too where `adds`; c
/// is bf16, rounded once, where `rounds`, otherwise f32. As above, where the level has instructions
/// for bf16; less than the least normal number may count as 0.
bool onednn_product(int64_t m, int64_t n, int64_t k, const Bf16Matrix& a, const Bf16Matrix& b,
                    void* c, int64_t c_row, bool rounds, bool adds);

/// The version of the library, e.g. "oneDNN 2.6.3"; empty where it is not found.
const char* onednn_version();

}  // namespace shardproof::cpu
