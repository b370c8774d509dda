#pragma once
// Products of small matrices in shared memory: each warp holds 16 rows of the result in registers.
// bf16 uses the tensor cores (mma.sync m16n8k16), f32 uses plain arithmetic. A thread holds the
// same entries of the result in both cases.
#include "kernels/cuda/block.h"
#include "kernels/cuda/fused/entries.h"

namespace shardproof::SHARDPROOF_MACHINE {

/// Which entries of an m16n8k16 product a lane holds: PTX ISA, "Matrix fragments for
/// mma.m16n8k16".
namespace fragment {
SHARDPROOF_HD constexpr int a_row(int lane, int part) { return lane / 4 + part % 2 * 8; }
SHARDPROOF_HD constexpr int a_column(int lane, int part) { return lane % 4 * 2 + part / 2 * 8; }
SHARDPROOF_HD constexpr int b_row(int lane, int part) { return lane % 4 * 2 + part * 8; }
SHARDPROOF_HD constexpr int b_column(int lane) { return lane / 4; }
SHARDPROOF_HD constexpr int c_row(int lane, int entry) { return lane / 4 + entry / 2 * 8; }
SHARDPROOF_HD constexpr int c_column(int lane, int entry) { return lane % 4 * 2 + entry % 2; }
}  // namespace fragment

/// A thread's entries of 16 rows and 8 * `tiles` columns: at[tile][entry].
template <int tiles>
struct Accumulator {
  float at[tiles][4];
};

template <int tiles>
SHARDPROOF_DEVICE void clear(Accumulator<tiles>& sums) {
  SHARDPROOF_UNROLL()
  for (int tile = 0; tile < tiles; ++tile) {
    SHARDPROOF_UNROLL()
    for (int entry = 0; entry < 4; ++entry) sums.at[tile][entry] = 0;
  }
}

/// Two bf16 in a register; the first is the lower half.
struct Pairs4 {
  uint32_t at[4];
};

SHARDPROOF_HD inline uint32_t pair(Bfloat16 first, Bfloat16 second) {
  return first.bits | static_cast<uint32_t>(second.bits) << 16;
}

SHARDPROOF_DEVICE inline uint32_t narrow_pair(float first, float second) {
#ifdef SHARDPROOF_ON_GPU
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
#else
  return pair(narrow<Bfloat16>(first), narrow<Bfloat16>(second));
#endif
}

/// ldmatrix of four 8 x 8 matrices: lane 8 i + r supplies the address of row r of matrix i, and
/// receives entries (lane / 4, lane % 4 * 2 + {0, 1}) of each matrix, or of its transpose
/// (`transposed`).
template <bool transposed, class Address>
SHARDPROOF_DEVICE void load_matrices([[maybe_unused]] Block& block, PerThread<Pairs4>& pairs,
                                     Address address) {
#ifdef SHARDPROOF_ON_GPU
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(address(threadIdx.x)));
  uint32_t(&to)[4] = pairs[0].at;
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
#else
  for (int thread = 0; thread < block.threads(); ++thread) {
    const int warp = thread - thread % warp_threads, lane = thread % warp_threads;
    for (int i = 0; i < 4; ++i) {
      const auto entry = [&](int row, int column) {
        return transposed ? address(warp + 8 * i + column)[row]
                          : address(warp + 8 * i + row)[column];
      };
      pairs[thread].at[i] = pair(entry(lane / 4, lane % 4 * 2), entry(lane / 4, lane % 4 * 2 + 1));
    }
  }
#endif
}

/// sums.at[tile] += a b, where b is entries `first` and `first` + 1 of `b`.
template <int tiles>
SHARDPROOF_DEVICE void multiply([[maybe_unused]] Block& block, PerThread<Accumulator<tiles>>& sums,
                                int tile, PerThread<Pairs4>& a, PerThread<Pairs4>& b, int first) {
#ifdef SHARDPROOF_ON_GPU
  float(&c)[4] = sums[0].at[tile];
  const uint32_t(&x)[4] = a[0].at;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(b[0].at[first]), "r"(b[0].at[first + 1]));
#else
  const auto half = [](uint32_t both, int which) {
    return widen(Bfloat16{static_cast<uint16_t>(both >> (16 * which))});
  };
  for (int warp = 0; warp < block.threads(); warp += warp_threads) {
    float left[16][16], right[8][16];  // right is transposed: right[column][row]
    for (int lane = 0; lane < warp_threads; ++lane)
      for (int which = 0; which < 2; ++which) {
        for (int part = 0; part < 4; ++part)
          left[fragment::a_row(lane, part)][fragment::a_column(lane, part) + which] =
              half(a[warp + lane].at[part], which);
        for (int part = 0; part < 2; ++part)
          right[fragment::b_column(lane)][fragment::b_row(lane, part) + which] =
              half(b[warp + lane].at[first + part], which);
      }
    for (int lane = 0; lane < warp_threads; ++lane)
      for (int entry = 0; entry < 4; ++entry) {
        const float* x = left[fragment::c_row(lane, entry)];
        const float* y = right[fragment::c_column(lane, entry)];
        float& sum = sums[warp + lane].at[tile][entry];
        for (int k = 0; k < 16; ++k) sum += x[k] * y[k];
      }
  }
#endif
}

/// The row stride of a tile in shared memory: 16 bytes more than a multiple of 128, which avoids
/// bank conflicts.
template <class E>
constexpr int tile_stride(int width) {
  return width + static_cast<int>(widest_access / sizeof(E));
}

template <class E>
struct TileProducts;

template <>
struct TileProducts<Bfloat16> {
  /// `times` needs no shared memory.
  static constexpr size_t staging_bytes(int, int) { return 0; }

  /// sums[i, j] += sum over k < width of a[16 warp + i, k] b[j, k].
  template <int width, int tiles>
  static SHARDPROOF_DEVICE void times_transposed(Block& block, PerThread<Accumulator<tiles>>& sums,
                                                 const Bfloat16* a, const Bfloat16* b) {
    constexpr int stride = tile_stride<Bfloat16>(width);
    PerThread<Pairs4> left, right;
    SHARDPROOF_UNROLL()
    for (int k = 0; k < width; k += 16) {
      load_matrices<false>(block, left, [&](int thread) {
        const int lane = thread % warp_threads;
        return a + (thread / warp_threads * 16 + lane % 16) * stride + k + lane / 16 * 8;
      });
      SHARDPROOF_UNROLL()
      for (int tile = 0; tile < tiles; tile += 2) {
        load_matrices<false>(block, right, [&](int thread) {
          const int lane = thread % warp_threads;
          return b + (tile * 8 + lane / 16 * 8 + lane % 8) * stride + k + lane / 8 % 2 * 8;
        });
        multiply(block, sums, tile, left, right, 0);
        multiply(block, sums, tile + 1, left, right, 2);
      }
    }
  }

  /// sums[i, j] += sum over k < 8 depth of x[i, k], rounded to bf16, times b[k, j].
  template <int width, int depth, int tiles>
  static SHARDPROOF_DEVICE void times(Block& block, PerThread<Accumulator<tiles>>& sums,
                                      PerThread<Accumulator<depth>>& x, const Bfloat16* b, void*) {
    constexpr int stride = tile_stride<Bfloat16>(width);
    PerThread<Pairs4> left, right;
    SHARDPROOF_UNROLL()
    for (int k = 0; k < depth; k += 2) {
      block.each_alone([&](int thread) {
        SHARDPROOF_UNROLL()
        for (int part = 0; part < 4; ++part) {
          const float(&from)[4] = x[thread].at[k + part / 2];
          left[thread].at[part] = narrow_pair(from[part % 2 * 2], from[part % 2 * 2 + 1]);
        }
      });
      SHARDPROOF_UNROLL()
      for (int tile = 0; tile < tiles; tile += 2) {
        load_matrices<true>(block, right, [&](int thread) {
          const int lane = thread % warp_threads;
          return b + (k * 8 + lane / 8 % 2 * 8 + lane % 8) * stride + tile * 8 + lane / 16 * 8;
        });
        multiply(block, sums, tile, left, right, 0);
        multiply(block, sums, tile + 1, left, right, 2);
      }
    }
  }
};

template <>
struct TileProducts<float> {
  static constexpr size_t staging_bytes(int rows, int columns) {
    return static_cast<size_t>(rows * tile_stride<float>(columns)) * sizeof(float);
  }

  template <int width, int tiles>
  static SHARDPROOF_DEVICE void times_transposed(Block& block, PerThread<Accumulator<tiles>>& sums,
                                                 const float* a, const float* b) {
    constexpr int stride = tile_stride<float>(width);
    block.each_alone([&](int thread) {
      const int lane = thread % warp_threads, row = thread / warp_threads * 16;
      for (int k = 0; k < width; k += 4) {
        Floats<4> left[2];
        for (int i = 0; i < 2; ++i)
          left[i] = load<4>(a + (row + fragment::c_row(lane, 2 * i)) * stride + k);
        SHARDPROOF_UNROLL()
        for (int tile = 0; tile < tiles; ++tile) {
          SHARDPROOF_UNROLL()
          for (int column = 0; column < 2; ++column) {
            const auto right =
                load<4>(b + (tile * 8 + fragment::c_column(lane, column)) * stride + k);
            SHARDPROOF_UNROLL()
            for (int i = 0; i < 4; ++i) {
              sums[thread].at[tile][column] += left[0].at[i] * right.at[i];
              sums[thread].at[tile][2 + column] += left[1].at[i] * right.at[i];
            }
          }
        }
      }
    });
  }

  /// `staging`: memory for the block's x that nothing else uses.
  template <int width, int depth, int tiles>
  static SHARDPROOF_DEVICE void times(Block& block, PerThread<Accumulator<tiles>>& sums,
                                      PerThread<Accumulator<depth>>& x, const float* b,
                                      void* staging) {
    constexpr int stride = tile_stride<float>(width), own = tile_stride<float>(depth * 8);
    auto* left = static_cast<float*>(staging);
    block.each([&](int thread) {
      const int lane = thread % warp_threads, row = thread / warp_threads * 16;
      SHARDPROOF_UNROLL()
      for (int tile = 0; tile < depth; ++tile) {
        SHARDPROOF_UNROLL()
        for (int entry = 0; entry < 4; ++entry)
          left[(row + fragment::c_row(lane, entry)) * own + tile * 8 +
               fragment::c_column(lane, entry)] = x[thread].at[tile][entry];
      }
    });
    block.each([&](int thread) {
      const int lane = thread % warp_threads, row = thread / warp_threads * 16;
      for (int k = 0; k < depth * 8; ++k) {
        const float upper = left[(row + fragment::c_row(lane, 0)) * own + k];
        const float lower = left[(row + fragment::c_row(lane, 2)) * own + k];
        SHARDPROOF_UNROLL()
        for (int tile = 0; tile < tiles; ++tile) {
          const auto right = load<2>(b + k * stride + tile * 8 + fragment::c_column(lane, 0));
          SHARDPROOF_UNROLL()
          for (int column = 0; column < 2; ++column) {
            sums[thread].at[tile][column] += upper * right.at[column];
            sums[thread].at[tile][2 + column] += lower * right.at[column];
          }
        }
      }
    });
  }
};

}  // namespace shardproof::SHARDPROOF_MACHINE
