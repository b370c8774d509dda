#pragma once
// The operands of one product.
#include "kernels/ops.h"

namespace shardproof::cpu {

/// A matrix of a product: one of its strides is 1, or the extent of that dim is 1.
template <class T>
struct Matrix {
  const T* data = nullptr;
  MatrixStrides strides;
};

/// An f32 that stands for the nearest bf16.
struct Rounded {
  float number = 0;
};

using F32Matrix = Matrix<float>;
using Bf16Matrix = Matrix<uint16_t>;

}  // namespace shardproof::cpu
