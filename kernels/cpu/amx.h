#pragma once
// The processor's tiles for bf16 (AMX), at about 15 times the rate of its f32 vectors (measured on
// an Emerald Rapids): packing operands for them, and products of packed operands. Call these only
// at level amx.
//
// Tiles multiply lines: rows of a with columns of b, 32 terms of their sums at a time. An f32 is
// the sum of three of bf16, x = x0 + x1 + x2, each rounded from what is left: an f32 has 24 bits, a
// bf16 has 8, so the sum is exact. Of the nine products of parts, the six of x0 y0, x0 y1, x1 y0,
// x0 y2, x1 y1, x2 y0 are summed in f32. The other three are together below 2^-24 |x y|, what f32
// rounds a product by: x1 is at most 2^-8 |x| and x2 at most 2^-17 |x| (as in Henry, Tang,
// Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations", ARITH 2019).
#include <type_traits>

#include "kernels/cpu/matrix.h"

namespace shardproof::cpu::amx {

/// Whether the compiler knew tiles; else the other functions throw std::logic_error.
bool is_compiled();

/// Lines are packed in panels of 32, one after the other, with 32 terms per step: both are filled
/// with 0.
constexpr int64_t panel = 32, step = 32;
constexpr int64_t panels_of(int64_t lines) { return (lines + panel - 1) / panel; }
constexpr int64_t steps_of(int64_t terms) { return (terms + step - 1) / step; }

/// A step of a panel, of f32, bf16 (uint16_t), or Rounded.
template <class T>
constexpr int64_t parts_of = std::is_same_v<T, float> ? 3 : 1;
template <class T>
constexpr int64_t step_bytes = parts_of<T>* panel* step * 2;
template <class T>
constexpr int64_t packed_bytes(int64_t lines, int64_t terms) {
  return panels_of(lines) * steps_of(terms) * step_bytes<T>;
}

/// The exponents of the largest number and of the smallest but for 0, as in the bits of an f32: 127
/// is that of 1.
struct Exponents {
  int64_t largest = 0, smallest = 255;
};

/// Packs a (m x k), whose rows are lines, or b (k x n), whose columns are; `to` is at a whole 64
/// bytes. The exponents are those of f32; of others, they are not looked at.
template <class T>
Exponents pack_left(std::byte* to, const Matrix<T>& a, int64_t m, int64_t k);
template <class T>
Exponents pack_right(std::byte* to, const Matrix<T>& b, int64_t k, int64_t n);

/// Whether products of f32 numbers like these are as exact as said, though tiles count subnormal
/// numbers as 0, and no sum of parts is infinity less infinity. Not if one is infinite or NaN.
bool are_exact(const Exponents& a, const Exponents& b);

/// Rows of f32 that a product is added to, unless null.
struct Before {
  const float* first = nullptr;
  int64_t row = 0;
};

/// to = before + a b, m x n, of packed operands of T with k terms: in f32, or rounded to bf16. Rows
/// of it are `row` entries apart. An entry's bits depend on its row of a, its column of b, and on
/// what was there before.
template <class T, class To>
void multiply(const std::byte* a, const std::byte* b, int64_t m, int64_t n, int64_t k,
              const Before& before, To* to, int64_t row);

}  // namespace shardproof::cpu::amx
