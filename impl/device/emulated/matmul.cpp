#include "impl/device/emulated/matmul.h"

#include "kernels/cpu/kernels.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

/// Converts `rows` by `columns` entries (i, j) to row-major f32.
std::vector<float> dense(Element element, const void* data, int64_t at,
                         const MatrixStrides& strides, int64_t rows, int64_t columns) {
  std::vector<float> matrix(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      matrix[static_cast<size_t>(i * columns + j)] =
          static_cast<float>(number_at(element, data, at + i * strides.row + j * strides.column));
  return matrix;
}

void one(const Matmul& op, const int64_t* at, void* out, const void* const* inputs) {
  const std::vector<float> a = dense(op.elements[1], inputs[0], at[1], op.a, op.m, op.k),
                           b = dense(op.elements[2], inputs[1], at[2], op.b, op.k, op.n);
  std::vector<float> c(static_cast<size_t>(op.m * op.n));
  Matmul plain;
  plain.m = op.m;
  plain.n = op.n;
  plain.k = op.k;
  plain.a = {op.k, 1};
  plain.b = plain.c = {op.n, 1};
  plain.batch.strides.resize(3);
  const void* operands[] = {a.data(), b.data()};
  cpu::run(plain, c.data(), operands);
  for (int64_t i = 0; i < op.m; ++i)
    for (int64_t j = 0; j < op.n; ++j)
      set_number(op.elements[0], out, at[0] + i * op.c.row + j * op.c.column,
                 c[static_cast<size_t>(i * op.n + j)]);
}

}  // namespace

void emulate(const Matmul& op, void* out, const void* const* inputs) {
  if (op.elements[1] != Element::bf16) return cpu::run(op, out, inputs);
  for_each_row(op.batch, [&](const int64_t* at) {
    for (int64_t i = 0; i < op.batch.inner(); ++i) {
      int64_t own[3];
      for (size_t k = 0; k < 3; ++k) own[k] = at[k] + i * op.batch.inner_stride(k);
      one(op, own, out, inputs);
    }
  });
}

void emulate(const BiasedProduct& op, void* out, const void* const* inputs) {
  const Matmul& own = op.product;
  Matmul sums = own;
  sums.elements[0] = Element::f32;
  sums.c = {own.n, 1};
  std::vector<float> c(static_cast<size_t>(own.m * own.n));
  emulate(sums, c.data(), inputs);
  for (int64_t i = 0; i < own.m; ++i)
    for (int64_t j = 0; j < own.n; ++j)
      set_number(own.elements[0], out, i * own.c.row + j * own.c.column,
                 c[static_cast<size_t>(i * own.n + j)] +
                     static_cast<float>(number_at(op.bias, inputs[2], op.by_row ? i : j)));
}

}  // namespace shardproof
