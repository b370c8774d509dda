#pragma once
// Matrix products, by Eigen.
#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

/// A matrix in memory: entry (i, j) is at i * row + j * column. One of the two strides is 1, or its
/// extent is.
struct MatrixStrides {
  int64_t row = 0, column = 0;
};

struct Matmul {
  int64_t m = 1, n = 1, k = 1;
  MatrixStrides a, b, c;
  Nest batch;  ///< operand 0: c, 1: a, 2: b
  bool f64 = false;
};

/// c[i, j] = sum over p of a[i, p] b[p, j] for each of the batch; f64 or f32.
void matmul(const Matmul& op, void* c, const void* a, const void* b);

}  // namespace shardproof::cpu
