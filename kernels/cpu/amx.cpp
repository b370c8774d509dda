#include "kernels/cpu/amx.h"

#include "kernels/cpu/isa.h"

#if defined(__x86_64__) && defined(__linux__) && __has_include(<amxbf16intrin.h>)
#ifndef __clang__  // g++ 12 warns of its own AVX-512 headers
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <memory>
#define SHARDPROOF_AMX \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-bf16")))
#endif

namespace shardproof::cpu {

#ifdef SHARDPROOF_AMX
namespace {

// A tile has 16 lines of 64 bytes. A line is a row of a or a column of b. The parts of 16 lines and
// 32 terms of their sums are three tiles. Of a, each tile has a line of 16 pairs of terms per row;
// of b, a row has one pair of each line. Which two terms are a pair does not matter as long as both
// agree: term i and term i + 16.
constexpr int64_t side = 16, step = 32, line_bytes = 64, tile_bytes = side * line_bytes;
// The kernel multiplies panels of two tiles: 32 lines. Per step a panel has two tiles of each part.
constexpr int64_t panel = 2 * side, part_bytes = 2 * tile_bytes, step_bytes = 3 * part_bytes;
// What is packed at once stays in the L2 cache: 192 KiB of a, 768 KiB of b.
constexpr int64_t packed_rows = 128, packed_terms = 256;

/// The largest and the smallest number of an operand's block but for 0, as bits, without signs; the
/// smallest is less 1, so that a 0 is the largest of all.
struct Magnitudes {
  __m512i largest, smallest;
};

SHARDPROOF_AMX inline void include(Magnitudes& seen, __m512 x) {
  const __m512i bits = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  seen.largest = _mm512_max_epu32(seen.largest, bits);
  seen.smallest = _mm512_min_epu32(seen.smallest, _mm512_sub_epi32(bits, _mm512_set1_epi32(1)));
}

/// Exponents, as in the bits of an f32: 127 is that of 1.
struct Exponents {
  int64_t largest = 0, smallest = 255;
};

SHARDPROOF_AMX inline Exponents exponents_of(const Magnitudes& seen) {
  const uint32_t largest = _mm512_reduce_max_epu32(seen.largest),
                 smallest = _mm512_reduce_min_epu32(seen.smallest) + 1;
  return {largest >> 23, smallest == 0 ? 255 : smallest >> 23};
}

/// Whether no part and no product of two parts leaves f32's range: the smallest are 2^-16 of a
/// number with 8 bits, or 2^-16 of a product with 16.
bool fits(const Exponents& a, const Exponents& b) {
  constexpr int64_t bias = 127, most = 110, least = -100;
  return a.largest < 2 * bias && b.largest < 2 * bias && a.largest + b.largest <= 2 * bias + most &&
         a.smallest >= bias + least && b.smallest >= bias + least &&
         a.smallest + b.smallest >= 2 * bias + least;
}

/// The nearest bf16 as an f32.
SHARDPROOF_AMX inline __m512i rounded(__m512 x) {
  return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)),
                          _mm512_set1_epi32(static_cast<int>(0xffff0000)));
}

/// Two bf16, given as f32, in each lane.
SHARDPROOF_AMX inline __m512i paired(__m512i first, __m512i second) {
  return _mm512_or_si512(_mm512_srli_epi32(first, 16), second);
}

struct Parts {
  __m512i of[3];
};

SHARDPROOF_AMX inline Parts parts_of(__m512 x) {
  const __m512i first = rounded(x);
  const __m512 left = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
  const __m512i second = rounded(left);
  return {{first, second, _mm512_castps_si512(_mm512_sub_ps(left, _mm512_castsi512_ps(second)))}};
}

/// Swaps rows and columns of 16 x 16 pairs.
SHARDPROOF_AMX inline void transpose(__m512i* rows) {
  __m512i t[side];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      rows[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + 2 + j]);
      rows[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + 2 + j]);
    }
  for (int i = 0; i < 16; i += 8)
    for (int j = 0; j < 4; ++j) {
      t[i + j] = _mm512_shuffle_i32x4(rows[i + j], rows[i + 4 + j], 0x88);
      t[i + 4 + j] = _mm512_shuffle_i32x4(rows[i + j], rows[i + 4 + j], 0xdd);
    }
  for (int j = 0; j < 8; ++j) {
    rows[j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(t[j], t[8 + j], 0xdd);
  }
}

/// An operand: `line` and `term` are the strides of its lines and of the terms of their sums.
struct Operand {
  const float* data;
  int64_t line, term;

  Operand from(int64_t first_line, int64_t first_term) const {
    return {data + first_line * line + first_term * term, line, term};
  }
};

SHARDPROOF_AMX inline __m512 load(const float* from, int64_t count) {
  if (count >= side) return _mm512_loadu_ps(from);
  if (count <= 0) return _mm512_setzero_ps();
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
}

/// Packs 16 lines and 32 terms, or as many as there are; the rest is 0. Contiguous are the terms of
/// a line, or the lines of a term. Vectors of pairs are rows of the tile, or its columns.
template <bool of_terms, bool are_columns>
SHARDPROOF_AMX inline void pack_tile(std::byte* to, const Operand& x, int64_t lines, int64_t terms,
                                     Magnitudes& seen) {
  __m512i columns[3][side];
  for (int64_t i = 0; i < side; ++i) {
    const int64_t apart = of_terms ? x.line : x.term;
    const float* const from = x.data + i * apart;
    const __m512 first = of_terms ? load(from, i < lines ? terms : 0)
                                  : load(from, i < terms ? lines : 0),
                 second = of_terms ? load(from + side, i < lines ? terms - side : 0)
                                   : load(from + side * apart, i + side < terms ? lines : 0);
    include(seen, first), include(seen, second);
    const Parts left = parts_of(first), right = parts_of(second);
    for (int part = 0; part < 3; ++part) {
      const __m512i pairs = paired(left.of[part], right.of[part]);
      if constexpr (are_columns)
        columns[part][i] = pairs;
      else
        _mm512_store_si512(to + part * part_bytes + i * line_bytes, pairs);
    }
  }
  if constexpr (are_columns)
    for (int part = 0; part < 3; ++part) {
      transpose(columns[part]);
      for (int64_t i = 0; i < side; ++i)
        _mm512_store_si512(to + part * part_bytes + i * line_bytes, columns[part][i]);
    }
}

int64_t steps_of(int64_t terms) { return (terms + step - 1) / step; }

/// Packs lines and terms into panels, one after the other, each with its steps.
template <bool of_terms, bool are_columns>
SHARDPROOF_AMX Exponents pack(std::byte* to, const Operand& x, int64_t lines, int64_t terms) {
  Magnitudes seen{_mm512_setzero_si512(), _mm512_set1_epi32(-1)};
  const int64_t panel_bytes = steps_of(terms) * step_bytes;
  const auto at = [&](int64_t line, int64_t term) SHARDPROOF_AMX {
    pack_tile<of_terms, are_columns>(to + line / panel * panel_bytes + term / step * step_bytes +
                                         line % panel / side * tile_bytes,
                                     x.from(line, term), lines - line, terms - term, seen);
  };
  const int64_t whole = (lines + panel - 1) / panel * panel;
  if (of_terms) {
    for (int64_t line = 0; line < whole; line += side)
      for (int64_t term = 0; term < terms; term += step) at(line, term);
  } else {
    for (int64_t term = 0; term < terms; term += step)
      for (int64_t line = 0; line < whole; line += side) at(line, term);
  }
  return exponents_of(seen);
}

Exponents pack_left(std::byte* to, const Operand& x, int64_t lines, int64_t terms) {
  return x.term == 1 ? pack<true, false>(to, x, lines, terms)
                     : pack<false, true>(to, x, lines, terms);
}
Exponents pack_right(std::byte* to, const Operand& x, int64_t lines, int64_t terms) {
  return x.term == 1 ? pack<true, true>(to, x, lines, terms)
                     : pack<false, false>(to, x, lines, terms);
}

/// The shapes of the eight tiles. A constant: g++ does not see that the instruction reads all of
/// it.
struct alignas(64) Shapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
  constexpr Shapes() {
    for (int tile = 0; tile < 8; ++tile) bytes[tile] = line_bytes, rows[tile] = side;
  }
};
constexpr Shapes shapes;

/// Tiles 0 to 3 are 32 x 32 of c, 4 and 5 a part of a, 6 and 7 one of b.
class Tiles {
 public:
  SHARDPROOF_AMX Tiles() { _tile_loadconfig(&shapes); }
  Tiles(const Tiles&) = delete;
  SHARDPROOF_AMX ~Tiles() { _tile_release(); }

  /// c = a b, or c += a b, of two panels; rows of c are `row` entries apart.
  SHARDPROOF_AMX void multiply(const std::byte* a, const std::byte* b, int64_t steps, float* c,
                               int64_t row, bool adds) const {
    const int64_t apart = row * static_cast<int64_t>(sizeof(float));
    float* const below = c + side * row;
    asm volatile("" ::: "memory");  // g++ does not see that tiles are loaded from memory
    if (adds) {
      _tile_loadd(0, c, apart);
      _tile_loadd(1, c + side, apart);
      _tile_loadd(2, below, apart);
      _tile_loadd(3, below + side, apart);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
#define SHARDPROOF_LOAD_A(part)                      \
  _tile_loadd(4, a + (part)*part_bytes, line_bytes); \
  _tile_loadd(5, a + (part)*part_bytes + tile_bytes, line_bytes)
#define SHARDPROOF_LOAD_B(part)                      \
  _tile_loadd(6, b + (part)*part_bytes, line_bytes); \
  _tile_loadd(7, b + (part)*part_bytes + tile_bytes, line_bytes)
#define SHARDPROOF_MULTIPLY \
  _tile_dpbf16ps(0, 4, 6);  \
  _tile_dpbf16ps(1, 4, 7);  \
  _tile_dpbf16ps(2, 5, 6);  \
  _tile_dpbf16ps(3, 5, 7)
    for (int64_t i = 0; i < steps; ++i, a += step_bytes, b += step_bytes) {
      SHARDPROOF_LOAD_A(0);
      SHARDPROOF_LOAD_B(2);
      SHARDPROOF_MULTIPLY;
      SHARDPROOF_LOAD_B(1);
      SHARDPROOF_MULTIPLY;
      SHARDPROOF_LOAD_B(0);
      SHARDPROOF_MULTIPLY;
      SHARDPROOF_LOAD_A(2);
      SHARDPROOF_MULTIPLY;
      SHARDPROOF_LOAD_A(1);
      SHARDPROOF_MULTIPLY;
      SHARDPROOF_LOAD_B(1);
      SHARDPROOF_MULTIPLY;
    }
#undef SHARDPROOF_LOAD_A
#undef SHARDPROOF_LOAD_B
#undef SHARDPROOF_MULTIPLY
    _tile_stored(0, c, apart);
    _tile_stored(1, c + side, apart);
    _tile_stored(2, below, apart);
    _tile_stored(3, below + side, apart);
  }
};

/// c, m x n, from packed operands.
void multiply_panels(const Tiles& tiles, const std::byte* a, const std::byte* b, int64_t m,
                     int64_t n, int64_t steps, float* c, int64_t row, bool adds) {
  alignas(64) float edge[panel * panel];
  for (int64_t i = 0; i < m; i += panel)
    for (int64_t j = 0; j < n; j += panel) {
      const std::byte *const left = a + i / panel * steps * step_bytes, *const right =
                                                                            b + j / panel * steps *
                                                                                    step_bytes;
      float* const to = c + i * row + j;
      const int64_t rows = std::min(panel, m - i), columns = std::min(panel, n - j);
      if (rows == panel && columns == panel) {
        tiles.multiply(left, right, steps, to, row, adds);
        continue;
      }
      for (int64_t r = 0; adds && r < rows; ++r)
        std::copy_n(to + r * row, columns, edge + r * panel);
      tiles.multiply(left, right, steps, edge, panel, adds);
      for (int64_t r = 0; r < rows; ++r) std::copy_n(edge + r * panel, columns, to + r * row);
    }
}

/// The thread's memory for packed operands, about 1 MiB; it is kept.
struct Packed {
  alignas(64) std::byte a[packed_rows * packed_terms / step / panel * step_bytes],
      b[amx_columns * packed_terms / step / panel * step_bytes];
};
Packed& packed() {
  thread_local const std::unique_ptr<Packed> own = std::make_unique<Packed>();
  return *own;
}

}  // namespace

/// Tiles took half the time of vectors per term, and packing a number as long as 32 terms by
/// vectors.
bool amx_takes(int64_t m, int64_t n, int64_t k) {
  const auto whole = [](int64_t extent, int64_t block) { return (extent + block - 1) / block; };
  const int64_t packed = m * whole(n, amx_columns) + n,
                computed = whole(m, panel) * panel * whole(n, panel) * panel * steps_of(k) * step;
  return isa() >= Isa::amx && 2 * m * n * k - computed > 64 * packed * k;
}

void amx_product(int64_t m, int64_t n, int64_t k, const F32Matrix& a, const F32Matrix& b, float* c,
                 int64_t c_row, bool adds,
                 const std::function<void(const ProductBlock& block, bool adds)>& other) {
  const Operand left{a.data, a.strides.row, a.strides.column},
      right{b.data, b.strides.column, b.strides.row};
  Packed& own = packed();
  for (int64_t j = 0; j < n; j += amx_columns)
    for (int64_t p = 0; p < k; p += packed_terms) {
      const int64_t columns = std::min(amx_columns, n - j), terms = std::min(packed_terms, k - p);
      const Exponents of_b = pack_right(own.b, right.from(j, p), columns, terms);
      for (int64_t i = 0; i < m; i += packed_rows) {
        const int64_t rows = std::min(packed_rows, m - i);
        const bool goes_on = adds || p > 0;
        if (fits(pack_left(own.a, left.from(i, p), rows, terms), of_b))
          multiply_panels(Tiles(), own.a, own.b, rows, columns, steps_of(terms), c + i * c_row + j,
                          c_row, goes_on);
        else
          other({i, rows, j, columns, p, terms}, goes_on);
      }
    }
}

#else

bool amx_takes(int64_t, int64_t, int64_t) { return false; }
void amx_product(int64_t, int64_t, int64_t, const F32Matrix&, const F32Matrix&, float*, int64_t,
                 bool, const std::function<void(const ProductBlock&, bool)>&) {}

#endif

}  // namespace shardproof::cpu
