#include "kernels/cpu/amx.h"

#include <stdexcept>

// amxbf16intrin.h is of g++, amxintrin.h of clang.
#if defined(__x86_64__) && defined(__linux__) && \
    (__has_include(<amxbf16intrin.h>) || __has_include(<amxintrin.h>))
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
#include <cstring>
#define SHARDPROOF_AMX \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")))
#endif

namespace shardproof::cpu::amx {

#ifdef SHARDPROOF_AMX
namespace {

// A tile has 16 lines of 64 bytes. Of a, each is a row with 16 pairs of terms; of b, each has one
// pair of terms of 16 columns. Which two terms are a pair does not matter as long as both agree:
// term i and term i + 16. A step of a panel has two tiles of each part.
constexpr int64_t side = 16, line_bytes = 64, tile_bytes = side * line_bytes,
                  part_bytes = 2 * tile_bytes;

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

SHARDPROOF_AMX inline Exponents exponents_of(const Magnitudes& seen) {
  const uint32_t largest = _mm512_reduce_max_epu32(seen.largest),
                 smallest = _mm512_reduce_min_epu32(seen.smallest) + 1;
  return {largest >> 23, smallest == 0 ? 255 : smallest >> 23};
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

/// Operands of bf16 are one part each.
template <int64_t parts>
struct Parts {
  __m512i of[parts];
};

template <int64_t parts>
SHARDPROOF_AMX inline Parts<parts> split(__m512 x) {
  if constexpr (parts == 1) {
    return {{_mm512_castps_si512(x)}};
  } else {
    const __m512i first = rounded(x);
    const __m512 left = _mm512_sub_ps(x, _mm512_castsi512_ps(first));
    const __m512i second = rounded(left);
    return {{first, second, _mm512_castps_si512(_mm512_sub_ps(left, _mm512_castsi512_ps(second)))}};
  }
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
template <class T>
struct Operand {
  const T* data;
  int64_t line, term;

  Operand from(int64_t first_line, int64_t first_term) const {
    return {data + first_line * line + first_term * term, line, term};
  }
};

SHARDPROOF_AMX inline __mmask16 first_lanes(int64_t count) {
  return count >= side ? static_cast<__mmask16>(-1)
         : count > 0   ? static_cast<__mmask16>((1u << count) - 1)
                       : __mmask16{0};
}
/// 16 numbers, or as many as there are, as f32; the rest is 0.
SHARDPROOF_AMX inline __m512 load(const float* from, int64_t count) {
  return count >= side ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(first_lanes(count), from);
}
SHARDPROOF_AMX inline __m512 load(const uint16_t* from, int64_t count) {
  const __m256i bits = _mm256_maskz_loadu_epi16(first_lanes(count), from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

/// To the nearest, ties to even; NaN stays NaN.
SHARDPROOF_AMX inline __m512 load(const Rounded* from, int64_t count) {
  const __m512 x = load(&from->number, count);
  const __m512i bits = _mm512_castps_si512(x),
                odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1)),
                nearest = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff)),
                quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_mask_mov_epi32(nearest, nan, quiet),
                                              _mm512_set1_epi32(static_cast<int>(0xffff0000))));
}

/// Packs 16 lines and 32 terms, or as many as there are; the rest is 0. Contiguous are the terms of
/// a line, or the lines of a term. Vectors of pairs are rows of the tile, or its columns.
template <bool of_terms, bool are_columns, class T>
SHARDPROOF_AMX inline void pack_tile(std::byte* to, const Operand<T>& x, int64_t lines,
                                     int64_t terms, Magnitudes& seen) {
  constexpr int64_t parts = parts_of<T>;
  __m512i columns[parts][side];
  for (int64_t i = 0; i < side; ++i) {
    const int64_t apart = of_terms ? x.line : x.term;
    const T* const from = x.data + i * apart;
    const __m512 first = of_terms ? load(from, i < lines ? terms : 0)
                                  : load(from, i < terms ? lines : 0),
                 second = of_terms ? load(from + side, i < lines ? terms - side : 0)
                                   : load(from + side * apart, i + side < terms ? lines : 0);
    if constexpr (of_terms) {  // the next step's, which may be on another page
      const auto* const next = reinterpret_cast<const char*>(from + step);
      _mm_prefetch(next, _MM_HINT_T0);
      if constexpr (sizeof(T) > 2) _mm_prefetch(next + line_bytes, _MM_HINT_T0);
    }
    if constexpr (parts > 1) include(seen, first), include(seen, second);
    const auto left = split<parts>(first), right = split<parts>(second);
    for (int64_t part = 0; part < parts; ++part) {
      const __m512i pairs = paired(left.of[part], right.of[part]);
      if constexpr (are_columns)
        columns[part][i] = pairs;
      else
        _mm512_store_si512(to + part * part_bytes + i * line_bytes, pairs);
    }
  }
  if constexpr (are_columns)
    for (int64_t part = 0; part < parts; ++part) {
      transpose(columns[part]);
      for (int64_t i = 0; i < side; ++i)
        _mm512_store_si512(to + part * part_bytes + i * line_bytes, columns[part][i]);
    }
}

/// Packs lines and terms into panels, one after the other, each with its steps.
template <bool of_terms, bool are_columns, class T>
SHARDPROOF_AMX Exponents pack(std::byte* to, const Operand<T>& x, int64_t lines, int64_t terms) {
  Magnitudes seen{_mm512_setzero_si512(), _mm512_set1_epi32(-1)};
  const int64_t panel_bytes = packed_bytes<T>(1, terms);
  const auto at = [&](int64_t line, int64_t term) SHARDPROOF_AMX {
    pack_tile<of_terms, are_columns>(to + line / panel * panel_bytes + term / step * step_bytes<T> +
                                         line % panel / side * tile_bytes,
                                     x.from(line, term), lines - line, terms - term, seen);
  };
  const int64_t whole = panels_of(lines) * panel;
  if (of_terms) {
    for (int64_t line = 0; line < whole; line += side)
      for (int64_t term = 0; term < terms; term += step) at(line, term);
  } else {
    for (int64_t term = 0; term < terms; term += step)
      for (int64_t line = 0; line < whole; line += side) at(line, term);
  }
  return exponents_of(seen);
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

/// Tiles 0 to 3 are 32 x 32 of the result, 4 and 5 a part of a, 6 and 7 one of b.
SHARDPROOF_AMX inline void load_left(const std::byte* panel, int64_t part) {
  _tile_loadd(4, panel + part * part_bytes, line_bytes);
  _tile_loadd(5, panel + part * part_bytes + tile_bytes, line_bytes);
}
SHARDPROOF_AMX inline void load_right(const std::byte* panel, int64_t part) {
  _tile_loadd(6, panel + part * part_bytes, line_bytes);
  _tile_loadd(7, panel + part * part_bytes + tile_bytes, line_bytes);
}
SHARDPROOF_AMX inline void multiply_tiles() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/// to = a b of two panels; its rows are one after the other.
template <int64_t parts>
SHARDPROOF_AMX inline void multiply_panels(const std::byte* a, const std::byte* b, int64_t steps,
                                           float* to) {
  asm volatile("" ::: "memory");  // g++ does not see that tiles are loaded from memory
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t i = 0; i < steps; ++i, a += parts * part_bytes, b += parts * part_bytes) {
    load_left(a, 0);
    if constexpr (parts > 1) {
      load_right(b, 2), multiply_tiles();
      load_right(b, 1), multiply_tiles();
    }
    load_right(b, 0), multiply_tiles();
    if constexpr (parts > 1) {
      load_left(a, 2), multiply_tiles();
      load_left(a, 1), multiply_tiles();
      load_right(b, 1), multiply_tiles();
    }
  }
  constexpr int64_t row = panel * sizeof(float);
  float* const below = to + side * panel;
  _tile_stored(0, to, row);
  _tile_stored(1, to + side, row);
  _tile_stored(2, below, row);
  _tile_stored(3, below + side, row);
}

SHARDPROOF_AMX inline void store_row(float* to, __m512 first, __m512 second, __mmask32 lanes) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes), first);
  _mm512_mask_storeu_ps(to + side, static_cast<__mmask16>(lanes >> side), second);
}
/// To the nearest, ties to even; NaN stays NaN.
SHARDPROOF_AMX inline void store_row(uint16_t* to, __m512 first, __m512 second, __mmask32 lanes) {
  const __m512bh nearest = _mm512_cvtne2ps_pbh(second, first);
  __m512i bits;
  std::memcpy(&bits, &nearest, sizeof bits);
  _mm512_mask_storeu_epi16(to, lanes, bits);
}

template <class T, class To>
SHARDPROOF_AMX void multiply_by_tiles(const std::byte* a, const std::byte* b, int64_t m, int64_t n,
                                      int64_t k, const Before& before, To* to, int64_t row) {
  alignas(64) float made[panel * panel];
  _tile_loadconfig(&shapes);
  for (int64_t i = 0; i < m; i += panel)
    for (int64_t j = 0; j < n; j += panel) {
      multiply_panels<parts_of<T>>(a + packed_bytes<T>(i, k), b + packed_bytes<T>(j, k),
                                   steps_of(k), made);
      const auto lanes = static_cast<__mmask32>((uint64_t{1} << std::min(panel, n - j)) - 1);
      for (int64_t r = 0; r < std::min(panel, m - i); ++r) {
        __m512 first = _mm512_load_ps(made + r * panel),
               second = _mm512_load_ps(made + r * panel + side);
        if (before.first) {
          const float* const from = before.first + (i + r) * before.row + j;
          first = _mm512_add_ps(first, _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), from));
          second = _mm512_add_ps(
              second, _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes >> side), from + side));
        }
        store_row(to + (i + r) * row + j, first, second, lanes);
      }
    }
  _tile_release();
}

}  // namespace

bool is_compiled() { return true; }

bool are_exact(const Exponents& a, const Exponents& b) {
  // From 2^-100 on, every part is a normal number, and a product of parts or a sum that is
  // subnormal is below 2^-26 |x y|. Up to 2^110, sums of 2^15 terms are finite.
  constexpr int64_t bias = 127, most = 110, least = -100;
  return a.largest < 2 * bias && b.largest < 2 * bias && a.largest + b.largest <= 2 * bias + most &&
         a.smallest >= bias + least && b.smallest >= bias + least &&
         a.smallest + b.smallest >= 2 * bias + least;
}

template <class T>
Exponents pack_left(std::byte* to, const Matrix<T>& a, int64_t m, int64_t k) {
  const Operand<T> x{a.data, a.strides.row, a.strides.column};
  return x.term == 1 ? pack<true, false>(to, x, m, k) : pack<false, true>(to, x, m, k);
}
template <class T>
Exponents pack_right(std::byte* to, const Matrix<T>& b, int64_t k, int64_t n) {
  const Operand<T> x{b.data, b.strides.column, b.strides.row};
  return x.term == 1 ? pack<true, true>(to, x, n, k) : pack<false, false>(to, x, n, k);
}

template <class T, class To>
void multiply(const std::byte* a, const std::byte* b, int64_t m, int64_t n, int64_t k,
              const Before& before, To* to, int64_t row) {
  multiply_by_tiles<T>(a, b, m, n, k, before, to, row);
}

#else

bool is_compiled() { return false; }
bool are_exact(const Exponents&, const Exponents&) { return false; }
template <class T>
Exponents pack_left(std::byte*, const Matrix<T>&, int64_t, int64_t) {
  throw std::logic_error("no tiles");
}
template <class T>
Exponents pack_right(std::byte*, const Matrix<T>&, int64_t, int64_t) {
  throw std::logic_error("no tiles");
}
template <class T, class To>
void multiply(const std::byte*, const std::byte*, int64_t, int64_t, int64_t, const Before&, To*,
              int64_t) {
  throw std::logic_error("no tiles");
}

#endif

template Exponents pack_left(std::byte*, const F32Matrix&, int64_t, int64_t);
template Exponents pack_left(std::byte*, const Bf16Matrix&, int64_t, int64_t);
template Exponents pack_left(std::byte*, const Matrix<Rounded>&, int64_t, int64_t);
template Exponents pack_right(std::byte*, const Matrix<Rounded>&, int64_t, int64_t);
template Exponents pack_right(std::byte*, const F32Matrix&, int64_t, int64_t);
template Exponents pack_right(std::byte*, const Bf16Matrix&, int64_t, int64_t);
template void multiply<float>(const std::byte*, const std::byte*, int64_t, int64_t, int64_t,
                              const Before&, float*, int64_t);
template void multiply<uint16_t>(const std::byte*, const std::byte*, int64_t, int64_t, int64_t,
                                 const Before&, float*, int64_t);
template void multiply<uint16_t>(const std::byte*, const std::byte*, int64_t, int64_t, int64_t,
                                 const Before&, uint16_t*, int64_t);

}  // namespace shardproof::cpu::amx
