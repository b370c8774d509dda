#pragma once
// Chains along a row as machine code of AVX-512, made once for equal chains: values stay in
// registers, and each operand passes through memory once.
#include <vector>

#include "kernels/ops.h"

namespace shardproof::cpu {

/// What is computed for each entry of a row. Values are numbered as in a Pointwise: the inputs,
/// then the steps.
struct RowChain {
  /// f32, bf16, i32 or u8 (a bool). `one`: a single entry, for all.
  struct Input {
    Element element = Element::f32;
    bool one = false;
  };
  /// entries: stored as one of these elements. one: the first entry, as f32. sum: of all entries,
  /// added to a double; in f32 in 16 lanes, and these in double. columns: each entry is added to
  /// its double.
  enum class To : uint8_t { entries, one, sum, columns };
  struct Result {
    size_t value = 0;
    To to = To::entries;
    Element element = Element::f32;
  };
  std::vector<Input> inputs;
  std::vector<PointwiseStep> steps;
  std::vector<Result> results;
};

/// Computes n >= 0 entries. `operands`: where the first entries of the inputs are, then of the
/// results. A result may be stored in the memory of an input. Steps have the bits of VectorSteps
/// at AVX-512.
using RowCode = void (*)(void* const* operands, int64_t n);

/// Null if the level isa() has no AVX-512, if the chain has a step without code (arithmetic of
/// integers, the rarer functions) or too many values at once, or if the system allows no new
/// code. Code lives as long as the process; equal chains share it. Thread-safe.
RowCode row_code(const RowChain& chain);

}  // namespace shardproof::cpu
