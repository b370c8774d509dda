#pragma once
// Functions of the standard library (spec/lib/*.shard) that a device may compute in one pass each:
// the op as data, like kernels/ops.h. Operands are row-major without gaps where no strides are
// named. What an op says of its inputs and outputs is in that order; scratch comes behind the
// outputs.
#include <array>
#include <cstddef>
#include <variant>
#include <vector>

#include "kernels/element.h"

namespace shardproof {

/// A scalar: known, or an input (f32) behind the op's others.
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

// --- the optimizer; `count` entries, f32 ---

/// (w, g, m, v) -> (w, m, v): an output may be the input of its name.
struct AdamW {
  int64_t count = 0;
  Scalar step, lr, decay, b1, b2, eps;
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

using FusedOp = std::variant<RmsNorm, RmsNormGrad, LayerNorm, LayerNormGrad, Softmax, SoftmaxGrad,
                             CrossEntropy, CrossEntropyGrad, Rope, AdamW, SumSquares>;

/// Bytes of each scratch output, behind those that the op names.
inline std::vector<size_t> scratch_bytes(const FusedOp& op) {
  if (const auto* sum = std::get_if<SumSquares>(&op))
    return {static_cast<size_t>(sum->blocks()) * sizeof(double)};
  return {};
}

}  // namespace shardproof
