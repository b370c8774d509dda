#include <algorithm>
#include <utility>

#include "impl/device/cuda/products.h"

namespace shardproof {
namespace {

/// The matrix `rows` by `columns` with entry (i, j) at i * strides.row + j * strides.column.
ColumnMajor::Operand operand_of(int64_t rows, int64_t columns, const MatrixStrides& strides) {
  const bool by_columns = strides.row == 1 || rows == 1;
  if (by_columns) return {false, rows, columns, std::max<int64_t>({strides.column, rows, 1})};
  return {true, columns, rows, std::max<int64_t>({strides.row, columns, 1})};
}

MatrixStrides transposed(const MatrixStrides& x) { return {x.column, x.row}; }

}  // namespace

ColumnMajor column_major(const Matmul& op) {
  ColumnMajor result;
  if (op.c.column == 1 || op.n == 1) {  // c by rows: c' = b' a'
    result.m = op.n;
    result.n = op.m;
    result.x = operand_of(op.n, op.k, transposed(op.b));
    result.y = operand_of(op.k, op.m, transposed(op.a));
    result.out = operand_of(op.n, op.m, transposed(op.c));
  } else {
    result.flipped = true;
    result.m = op.m;
    result.n = op.n;
    result.x = operand_of(op.m, op.k, op.a);
    result.y = operand_of(op.k, op.n, op.b);
    result.out = operand_of(op.m, op.n, op.c);
  }
  result.k = op.k;
  return result;
}

int batch_loop(const Nest& batch) {
  const auto longest = std::max_element(batch.extents.begin(), batch.extents.end());
  return longest == batch.extents.end() ? -1 : static_cast<int>(longest - batch.extents.begin());
}

}  // namespace shardproof
