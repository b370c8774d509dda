#pragma once
// Functions of the standard library (spec/lib/*.shard) that a device may compute in one
// pass, as data, like kernels/ops.h. Operands without strides are row-major without
// gaps. Each op lists its inputs and outputs in order; scratch outputs follow the
// outputs.
#include <array>
#include <cstddef>
#include <variant>
#include <vector>

#include "kernels/element.h"
#include "kernels/ops.h"
#include "kernels/row_phases.h"

namespace shardproof {

/// A scalar: a constant, or an f32 input after the op's other inputs.
struct Scalar {
  float value = 0;
  bool is_input = false;
};

// --- along rows of `length` entries; x is f32 or bf16, everything else f32 ---

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
/// (logits, target: i32, one per row) -> (loss, one per row). A target out of range matches no
/// entry.
struct CrossEntropy {
  int64_t rows = 0, length = 0;
};
/// (g: one per row, logits, target) -> (out)
struct CrossEntropyGrad {
  int64_t rows = 0, length = 0;
};

// --- rotary positions ---

/// (x, pos: i32[positions]) -> (out). x and out: [outer, positions, inner, width] of `element`.
/// `inverse` rotates in the opposite direction.
struct Rope {
  int64_t outer = 1, positions = 0, inner = 1, width = 0;
  Element element = Element::f32;
  bool inverse = false;
  Scalar base;
  static constexpr int64_t widest = 8192;
};

// --- the optimizer: `count` entries, all f32 except the gradient, which may be bf16 ---

/// (w, g, m, v) -> (w, m, v). An output may be the input of the same name. The gradient is g *
/// scale.
struct AdamW {
  int64_t count = 0;
  Element gradient = Element::f32;
  Scalar step, lr, decay, b1, b2, eps, scale{1, false};
};
/// (g) -> (sum of squares; scratch)
struct SumSquares {
  int64_t count = 0;
  Element element = Element::f32;
  /// The number of partial sums in the scratch.
  int64_t blocks() const {
    const int64_t fitting = (count + 4095) / 4096;
    return fitting < 1 ? 1 : fitting > 1024 ? 1024 : fitting;
  }
};

// --- attention ---

/// The strides, in entries, of an operand of attention: for the batch's dims, the position and the
/// group. The entries of a vector are contiguous.
struct HeadStrides {
  int64_t batch[3] = {}, position = 0, group = 0;
};
struct MaskStrides {
  int64_t batch[3] = {}, query = 0, group = 0, key = 0;
};

/// What is known about a mask in advance. any: nothing. causal: it allows exactly the keys up to
/// the query's position. segments: causal, within the query's segment.
enum class MaskKind : uint8_t { any, causal, segments };

/// `group` queries at each of `queries` positions attend to `keys` keys, with one mask for the
/// group, whose strides may be 0. `element`: of q, k, v and o, f32 or bf16.
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
  }  ///< rows in one batch entry: (position, group)
  bool fits() const { return width > 0 && width <= (element == Element::bf16 ? 256 : 128); }
  /// The mask's summary has one byte per tile of this many rows and keys.
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
  /// The statistics of the rows, as pairs f32[batches, rows, 2]: m, and sum of exp(logit - m). m is
  /// about the largest logit, or the log-sum-exp itself (then the sum is 1).
  size_t stats_bytes() const { return static_cast<size_t>(batches() * rows()) * 2 * sizeof(float); }
};

/// (q, k, v, mask: u8) -> (o; statistics as in AttentionShape::stats_bytes; scratch)
struct Attention : AttentionShape {
  HeadStrides o;
};

/// (g, q, k, v, mask, [o, log-sum-exps]) -> (g_q, g_k, g_v; scratch). The inputs in brackets are
/// outputs of Attention on the same operands; optional.
struct AttentionGrad : AttentionShape {
  bool after_forward = false;
  HeadStrides g, o, g_q, g_k, g_v;
};

// --- products ---

/// (a, b, bias) -> (c): a product without a batch plus `bias`, rounded once. `bias` has c's element
/// and one entry per column or per row of c.
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

/// (a, b) -> (c): operands of f32 are rounded to bf16 as they are read. c is f32 or bf16.
struct RoundedProduct {
  Matmul product;
};

// --- products with matrices that are chosen by data: entries of one id form one product ---

/// (a, table, ids) -> (c): c[e] = a[e] * table[ids[e]] for each entry e of the product's batch
/// (operand 0: c, 1: a, 2: ids). `window`: the matrices of the table; c is 0 where the id is
/// another rank's. An id out of range is a fault.
struct GroupedProduct {
  Matmul product;
  IndexWindow window;
  Element ids = Element::i32;
};

/// (ids, a, b) -> (sums): `count` zeros, then sums[ids[e]] += a[e] * b[e], a column times a row,
/// for each entry e of the product's batch (operand 0: ids, 1: a, 2: b). The strides of the
/// matrices in sums are the product's c, row-major f32; k is not used.
struct GroupedSum {
  Matmul product;
  IndexWindow window;
  int64_t count = 0;
  Element ids = Element::i32;
};

using FusedOp =
    std::variant<RmsNorm, RmsNormGrad, LayerNorm, LayerNormGrad, Softmax, SoftmaxGrad, CrossEntropy,
                 CrossEntropyGrad, Rope, AdamW, SumSquares, Attention, AttentionGrad, BiasedProduct,
                 RoundedProduct, GroupedProduct, GroupedSum, Rowwise>;

inline bool is_grouped(const FusedOp& op) {
  return std::holds_alternative<GroupedProduct>(op) || std::holds_alternative<GroupedSum>(op);
}

/// Whether a GPU has a kernel for it, where it computes such ops.
inline bool on_gpus(const FusedOp& op) {
  const auto groups = [](const Matmul& product, const IndexWindow& window) {
    return gpu_multiplies(product.elements[0], product.elements[1], product.elements[2]) &&
           product.elements[0] != Element::f64 && window.extent < UINT32_MAX;
  };
  if (const auto* product = std::get_if<GroupedProduct>(&op))
    return groups(product->product, product->window);
  if (const auto* sum = std::get_if<GroupedSum>(&op)) return groups(sum->product, sum->window);
  if (std::holds_alternative<RoundedProduct>(op)) return false;
  const auto* rowwise = std::get_if<Rowwise>(&op);
  return !rowwise || fits(*rowwise);
}

/// Bytes of each scratch output; these follow the op's own outputs.
inline std::vector<size_t> scratch_bytes(const FusedOp& op) {
  if (const auto* sum = std::get_if<SumSquares>(&op))
    return {static_cast<size_t>(sum->blocks()) * sizeof(double)};
  if (const auto* rowwise = std::get_if<Rowwise>(&op)) {
    const size_t bytes = shape_of(*rowwise).scratch_bytes();
    return bytes ? std::vector<size_t>{bytes} : std::vector<size_t>{};
  }
  if (const auto* attention = std::get_if<Attention>(&op))
    return {attention->stats_bytes(), attention->state_bytes()};
  if (const auto* grad = std::get_if<AttentionGrad>(&op)) {
    const size_t stats = grad->after_forward ? 0 : grad->stats_bytes();
    return {grad->state_bytes(), grad->stats_bytes() / 2, stats};
  }
  return {};
}

}  // namespace shardproof
