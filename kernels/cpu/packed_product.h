#pragma once
// One product of matrices by the processor's tiles (kernels/cpu/amx.h), which want packed operands.
#include <functional>

#include "kernels/cpu/matrix.h"

namespace shardproof::cpu {

/// Whether the level has tiles, and they save more time than packing operands of these sizes takes.
bool is_worth_packing(int64_t m, int64_t n, int64_t k);
/// Packs as many columns of b at once.
constexpr int64_t packed_columns = 512;

/// Rows [i, i + m), columns [j, j + n) of the result, and terms [p, p + k) of their sums.
struct ProductBlock {
  int64_t i = 0, m = 0, j = 0, n = 0, p = 0, k = 0;
};

/// c[i, j] = sum over p of a[i, p] b[p, j], summed in f32; with `adds`, added to c, which is f32. c
/// is row-major with rows `c_row` entries apart. Call it only if is_worth_packing(). Runs in the
/// calling thread only. An entry's bits depend on its row, its column and k, not on m and n.
///
/// Products of f32 are as exact as sums of f32. Blocks with numbers that tiles would not multiply
/// exactly are left to `other`, which must compute the same, and add it to c if its argument says
/// so.
void packed_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b,
                    float* c, int64_t c_row, bool adds,
                    const std::function<void(const ProductBlock& block, bool adds)>& other);
/// A and B are uint16_t (bf16) or Rounded. To is float, or uint16_t: rounded to bf16 once.
/// Subnormal numbers count as 0.
template <class A, class B, class To>
void packed_product(int64_t m, int64_t n, int64_t k, const Matrix<A>& a, const Matrix<B>& b, To* c,
                    int64_t c_row, bool adds);

}  // namespace shardproof::cpu
