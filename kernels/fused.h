#pragma once
// Functions of the standard library (spec/lib/*.shard) that a device may compute in one pass each:
// the op as data, like kernels/ops.h. Operands are row-major without gaps where no strides are
// named. An op lists its inputs and outputs in order; scratch comes after the
// outputs.
#include <array>
#include <cstddef>
#include <variant>
#include <vector>

#include "kernels/element.h"
#include "kernels/ops.h"
#include "kernels/row_phases.h"

namespace shardproof {

/// A scalar: known, or an input (f32) after the op's others.
struct Scalar {
  float value = 0;
  bool is_input = false;
};

// --- along rows of `length` entries; x is f32 or bf16, all else f32 ---

/// (x) -> (out)
struct RmsNorm {
  int64_t rows = 0, length = 0;
  Element x = Element::f32;
  Scalar eps;
};
/// (g, x) -> (out)
struct RmsNormGrad {
  int64_t rows = 0, length = 0;
  Element x = Element::f32;
  Scalar eps;
};
/// (x) -> (out)
struct LayerNorm {
  int64_t rows = 0, length = 0;
  Element x = Element::f32;
  Scalar eps;
};
/// (g, x) -> (out)
struct LayerNormGrad {
  int64_t rows = 0, length = 0;
  Element x = Element::f32;
  Scalar eps;
};
/// (x) -> (out)
struct Softmax {
  int64_t rows = 0, length = 0;
};
/// (g, y) -> (out)
struct SoftmaxGrad {
  int64_t rows = 0, length = 0;
};
/// (logits, target: i32, one per row) -> (loss, one per row). A target without an entry hits none.
struct CrossEntropy {
  int64_t rows = 0, length = 0;
};
/// (g: one per row, logits, target) -> (out)
struct CrossEntropyGrad {
  int64_t rows = 0, length = 0;
};

// --- rotary positions ---

/// (x, pos: i32[positions]) -> (out): x and out are [outer, positions, inner, width] of `element`.
/// `inverse` turns the other way.
struct Rope {
  int64_t outer = 1, positions = 0, inner = 1, width = 0;
  Element element = Element::f32;
  bool inverse = false;
  Scalar base;
  static constexpr int64_t widest = 8192;
};

// --- the optimizer; `count` entries, f32 but for the gradient, which may be bf16 ---

/// (w, g, m, v) -> (w, m, v): an output may be the input of its name. The gradient is g * scale.
struct AdamW {
  int64_t count = 0;
  Element gradient = Element::f32;
  Scalar step, lr, decay, b1, b2, eps, scale{1, false};
};
/// (g) -> (the sum of the squares; scratch)
struct SumSquares {
  int64_t count = 0;
  Element element = Element::f32;
  /// Partial sums, in the scratch.
  int64_t blocks() const {
    const int64_t fitting = (count + 4095) / 4096;
    return fitting < 1 ? 1 : fitting > 1024 ? 1024 : fitting;
  }
};

// --- attention ---

/// The strides of an operand of attention, in entries: along the batch's dims, the position
/// and the group. The entries of a vector are contiguous.
struct HeadStrides {
  int64_t batch[3] = {}, position = 0, group = 0;
};
struct MaskStrides {
  int64_t batch[3] = {}, query = 0, group = 0, key = 0;
};

/// What is known about a mask before it is computed: nothing, or that it allows exactly the keys
/// up to the query's position; or, of these, exactly the ones in the query's segment.
enum class MaskKind : uint8_t { any, causal, segments };

/// `group` queries at each of `queries` positions see `keys` keys; one mask for all of them, whose
/// strides may be 0. `element`: of q, k, v and o, f32 or bf16.
struct AttentionShape {
  int64_t batch[3] = {1, 1, 1};
  int64_t queries = 0, keys = 0, group = 1, width = 0;
  Element element = Element::f32;
  HeadStrides q, k, v;
  MaskStrides mask;
  MaskKind mask_kind = MaskKind::any;
  Scalar scale;

  constexpr int64_t batches() const { return batch[0] * batch[1] * batch[2]; }
  constexpr int64_t rows() const {
    return queries * group;
  }  ///< of one of the batch: position, group
  bool fits() const { return width > 0 && width <= (element == Element::bf16 ? 256 : 128); }
  /// The state of the mask, a byte for each tile of rows and keys.
  static constexpr int64_t tile = 64;
  constexpr int64_t row_tiles() const { return (rows() + tile - 1) / tile; }
  constexpr int64_t key_tiles() const { return (keys + tile - 1) / tile; }
  int64_t mask_batches() const {
    int64_t count = 1;
    for (int d = 0; d < 3; ++d) count *= mask.batch[d] != 0 ? batch[d] : 1;
    return count;
  }
  size_t state_bytes() const {
    return static_cast<size_t>(mask_batches() * row_tiles() * key_tiles());
  }
  /// The log-sum-exp as f32[batches, rows, 2]: of each row m, and the sum of exp(logit - m). m is
  /// the approximate largest logit, or the logarithm of the whole sum.
  size_t mass_bytes() const { return static_cast<size_t>(batches() * rows()) * 2 * sizeof(float); }
};

/// (q, k, v, mask: u8) -> (o; log-sum-exps, as AttentionShape::mass_bytes; scratch)
struct Attention : AttentionShape {
  HeadStrides o;
};

/// (g, q, k, v, mask, [o, masses]) -> (g_q, g_k, g_v; scratch): with what Attention made of the
/// same operands, or without.
struct AttentionGrad : AttentionShape {
  bool after_forward = false;
  HeadStrides g, o, g_q, g_k, g_v;
};

// --- products ---

/// (a, b, bias) -> (c): the sums of a product without a batch, plus an entry of `bias` for each of
/// c's columns, or for each row, rounded once. `bias` is of c's element.
struct BiasedProduct {
  Matmul product;
  bool by_row = false;
  Element bias = Element::f32;

  /// Whether c is contiguous along the bias, as libraries require.
  bool fits() const {
    const Element c = product.elements[0];
    const bool has = by_row ? product.c.row == 1 && product.c.column != 1 && product.n != 1
                            : product.c.column == 1 || product.n == 1;
    return has && c == bias && (c == Element::f32 || c == Element::bf16) &&
           product.batch.count() == 1 && product.k > 0 && product.m * product.n > 0;
  }
};

using FusedOp = std::variant<RmsNorm, RmsNormGrad, LayerNorm, LayerNormGrad, Softmax, SoftmaxGrad,
                             CrossEntropy, CrossEntropyGrad, Rope, AdamW, SumSquares, Attention,
                             AttentionGrad, BiasedProduct, Rowwise>;

/// Bytes of each scratch output, after those that the op names.
inline std::vector<size_t> scratch_bytes(const FusedOp& op) {
  if (const auto* sum = std::get_if<SumSquares>(&op))
    return {static_cast<size_t>(sum->blocks()) * sizeof(double)};
  if (const auto* rowwise = std::get_if<Rowwise>(&op)) {
    const size_t bytes = shape_of(*rowwise).scratch_bytes();
    return bytes ? std::vector<size_t>{bytes} : std::vector<size_t>{};
  }
  if (const auto* attention = std::get_if<Attention>(&op))
    return {attention->mass_bytes(), attention->state_bytes()};
  if (const auto* grad = std::get_if<AttentionGrad>(&op)) {
    const size_t masses = grad->after_forward ? 0 : grad->mass_bytes();
    return {grad->state_bytes(), grad->mass_bytes() / 2, masses};
  }
  return {};
}

}  // namespace shardproof
