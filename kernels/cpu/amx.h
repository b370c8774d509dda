#pragma once
// Products of f32 matrices by the processor's tiles for bf16 (AMX), which multiply 16 times as many
// numbers at once as its vectors.
#include <functional>

#include "kernels/cpu/matrix.h"

namespace shardproof::cpu {

/// Whether the level has tiles, and they save more time than packing the operands takes.
bool amx_takes(int64_t m, int64_t n, int64_t k);
/// Packs as many columns of b at once.
constexpr int64_t amx_columns = 512;

/// Rows [i, i + m), columns [j, j + n) of the result, and terms [p, p + k) of their sums.
struct ProductBlock {
  int64_t i = 0, m = 0, j = 0, n = 0, p = 0, k = 0;
};

/// c[i, j] = sum over p of a[i, p] b[p, j]; with `adds`, added to c. c is row-major with rows
/// `c_row` entries apart. Runs in the calling thread only. An entry's bits depend on its row, its
/// column and k, not on m and n.
///
/// Every number is the sum of three of bf16, x = x0 + x1 + x2, rounded from what is left: an f32
/// has 24 bits, a bf16 has 8, so the sum is exact. Of the nine products of parts, the six of x0 y0,
/// x0 y1, x1 y0, x0 y2, x1 y1, x2 y0 are summed in f32. The other three are below 2^-25 |xy|, half
/// of what f32 itself rounds (as in Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial
/// Intelligence Datatype For Higher-Precision Computations", ARITH 2019).
///
/// Tiles count subnormal numbers as 0. So blocks with a number that is so large or so small that a
/// part or a product of parts may leave the range of f32, with an infinity or a NaN, are left to
/// `other`, which must compute the same and add it to c if its argument says so.
///
/// Call it only if amx_takes() the product.
void amx_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b, float* c,
                 int64_t c_row, bool adds,
                 const std::function<void(const ProductBlock& block, bool adds)>& other);

}  // namespace shardproof::cpu
