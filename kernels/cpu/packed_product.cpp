#include "kernels/cpu/packed_product.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cpu/amx.h"
#include "kernels/cpu/isa.h"

namespace shardproof::cpu {
namespace {

// What is packed at once stays in the L2 cache: of f32, 192 KiB of a and 768 of b; of bf16, a third
// more.
constexpr int64_t packed_rows = 128, most_sums = 1024;
template <class T>
constexpr int64_t packed_terms = std::is_same_v<T, float> ? 256 : 1024;

/// The thread's memory for packed operands; it is kept.
template <class T>
struct Packed {
  alignas(64) std::byte a[amx::packed_bytes<T>(packed_rows, packed_terms<T>)],
      b[amx::packed_bytes<T>(packed_columns, packed_terms<T>)];
};
template <class T>
Packed<T>& packed() {
  thread_local const auto own = std::make_unique<Packed<T>>();
  return *own;
}

/// The thread's memory for sums of some columns, before they are rounded: 2 MiB at most.
float* sums_of(int64_t rows) {
  thread_local std::vector<float> own;
  own.resize(std::max(own.size(), static_cast<size_t>(rows * packed_columns)));
  return own.data();
}

template <class T>
Matrix<T> from(const Matrix<T>& x, int64_t row, int64_t column) {
  return {x.data + row * x.strides.row + column * x.strides.column, x.strides};
}

/// T: what is packed, f32 or bf16. Calls each(block, packed a, packed b, whether products of f32
/// are exact) for every block.
template <class T, class A, class B, class Each>
void for_each_block(int64_t m, int64_t n, int64_t k, const Matrix<A>& a, const Matrix<B>& b,
                    Each each) {
  Packed<T>& own = packed<T>();
  for (int64_t j = 0; j < n; j += packed_columns)
    for (int64_t p = 0; p < k; p += packed_terms<T>) {
      const int64_t columns = std::min(packed_columns, n - j),
                    terms = std::min(packed_terms<T>, k - p);
      const amx::Exponents of_b = amx::pack_right(own.b, from(b, p, j), terms, columns);
      for (int64_t i = 0; i < m; i += packed_rows) {
        const int64_t rows = std::min(packed_rows, m - i);
        const amx::Exponents of_a = amx::pack_left(own.a, from(a, i, p), rows, terms);
        each(ProductBlock{i, rows, j, columns, p, terms}, own.a, own.b, amx::are_exact(of_a, of_b));
      }
    }
}

}  // namespace

/// Of f32, tiles took half the time of vectors per term, and packing a number as long as 32 terms
/// by vectors. For bf16 the same sizes are taken.
bool is_worth_packing(int64_t m, int64_t n, int64_t k) {
  const int64_t blocks = (n + packed_columns - 1) / packed_columns;
  const int64_t packed = m * blocks + n, computed = amx::panels_of(m) * amx::panels_of(n) *
                                                    amx::steps_of(k) * amx::panel * amx::panel *
                                                    amx::step;
  return isa() >= Isa::amx && amx::is_compiled() && 2 * m * n * k - computed > 64 * packed * k;
}

void packed_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b,
                    float* c, int64_t c_row, bool adds,
                    const std::function<void(const ProductBlock&, bool)>& other) {
  for_each_block<float>(
      m, n, k, a, b,
      [&](const ProductBlock& block, const std::byte* left, const std::byte* right, bool is_exact) {
        float* const to = c + block.i * c_row + block.j;
        const bool goes_on = adds || block.p > 0;
        if (is_exact)
          amx::multiply<float>(left, right, block.m, block.n, block.k,
                               {goes_on ? to : nullptr, c_row}, to, c_row);
        else
          other(block, goes_on);
      });
}

template <class A, class B, class To>
void packed_product(int64_t m, int64_t n, int64_t k, const Matrix<A>& a, const Matrix<B>& b, To* c,
                    int64_t c_row, bool adds) {
  constexpr bool rounds = std::is_same_v<To, uint16_t>;
  if (rounds && k > packed_terms<uint16_t> && m > most_sums) {
    for (int64_t i = 0; i < m; i += most_sums)
      packed_product(std::min(most_sums, m - i), n, k, from(a, i, 0), b, c + i * c_row, c_row,
                     adds);
    return;
  }
  for_each_block<uint16_t>(
      m, n, k, a, b,
      [&](const ProductBlock& block, const std::byte* left, const std::byte* right, bool) {
        const auto into = [&](auto* to, int64_t row, const amx::Before& before) {
          amx::multiply<uint16_t>(left, right, block.m, block.n, block.k, before, to, row);
        };
        To* const to = c + block.i * c_row + block.j;
        if constexpr (rounds) {
          float* const sums = sums_of(m) + block.i * packed_columns;
          const amx::Before before{block.p > 0 ? sums : nullptr, packed_columns};
          if (block.p + block.k < k)
            into(sums, packed_columns, before);
          else
            into(to, c_row, before);
        } else {
          into(to, c_row, {adds || block.p > 0 ? to : nullptr, c_row});
        }
      });
}

#define SHARDPROOF_PACKED_PRODUCT(A, B)                                                       \
  template void packed_product(int64_t, int64_t, int64_t, const Matrix<A>&, const Matrix<B>&, \
                               float*, int64_t, bool);                                        \
  template void packed_product(int64_t, int64_t, int64_t, const Matrix<A>&, const Matrix<B>&, \
                               uint16_t*, int64_t, bool);
SHARDPROOF_PACKED_PRODUCT(uint16_t, uint16_t)
SHARDPROOF_PACKED_PRODUCT(uint16_t, Rounded)
SHARDPROOF_PACKED_PRODUCT(Rounded, uint16_t)
SHARDPROOF_PACKED_PRODUCT(Rounded, Rounded)
#undef SHARDPROOF_PACKED_PRODUCT

}  // namespace shardproof::cpu
