#include "kernels/cpu/kernels.h"

#include <Eigen/Core>
#include <stdexcept>
#include <utility>

namespace shardproof::cpu {
namespace {

using Eigen::ColMajor;
using Eigen::Dynamic;
using Eigen::RowMajor;

template <class T, int order>
auto matrix(T* data, int64_t rows, int64_t columns, int64_t stride) {
  using Entry = std::remove_const_t<T>;
  using Plain = Eigen::Matrix<Entry, Dynamic, Dynamic, order>;
  using Kept = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;
  return Eigen::Map<Kept, 0, Eigen::OuterStride<>>(data, rows, columns,
                                                   Eigen::OuterStride<>(stride));
}

/// Row-major: neighbours in a row are neighbours in memory.
bool by_rows(const MatrixStrides& x, int64_t columns) { return x.column == 1 || columns == 1; }

template <class T, int order_a, int order_b>
void product(const Matmul& op, T* c, const T* a, const T* b) {
  auto stride = [](const MatrixStrides& x, int order) {
    return order == RowMajor ? x.row : x.column;
  };
  matrix<T, RowMajor>(c, op.m, op.n, op.c.row).noalias() =
      matrix<const T, order_a>(a, op.m, op.k, stride(op.a, order_a)) *
      matrix<const T, order_b>(b, op.k, op.n, stride(op.b, order_b));
}

template <class T>
void products(const Matmul& op, T* c, const T* a, const T* b) {
  const bool rows_a = by_rows(op.a, op.k), rows_b = by_rows(op.b, op.n);
  const int64_t count = op.batch.inner();
  for_each_row(op.batch, [&](const int64_t* at) {
    for (int64_t i = 0; i < count; ++i) {
      T* to = c + at[0] + i * op.batch.inner_stride(0);
      const T* left = a + at[1] + i * op.batch.inner_stride(1);
      const T* right = b + at[2] + i * op.batch.inner_stride(2);
      if (rows_a && rows_b)
        product<T, RowMajor, RowMajor>(op, to, left, right);
      else if (rows_a)
        product<T, RowMajor, ColMajor>(op, to, left, right);
      else if (rows_b)
        product<T, ColMajor, RowMajor>(op, to, left, right);
      else
        product<T, ColMajor, ColMajor>(op, to, left, right);
    }
  });
}

}  // namespace

void run(const Matmul& op, void* out, const void* const* inputs) {
  if (!by_rows(op.c, op.n)) {  // c' = b' a'
    Matmul flipped = op;
    std::swap(flipped.m, flipped.n);
    std::swap(flipped.a, flipped.b);
    for (MatrixStrides* x : {&flipped.a, &flipped.b, &flipped.c}) std::swap(x->row, x->column);
    if (!flipped.batch.strides.empty())
      std::swap(flipped.batch.strides[1], flipped.batch.strides[2]);
    const void* swapped[] = {inputs[1], inputs[0]};
    return run(flipped, out, swapped);
  }
  const Element element = op.elements[0];
  if (element != op.elements[1] || element != op.elements[2])
    throw std::logic_error("a product of entries of different kinds");
  if (element == Element::f64)
    products(op, static_cast<double*>(out), static_cast<const double*>(inputs[0]),
             static_cast<const double*>(inputs[1]));
  else if (element == Element::f32)
    products(op, static_cast<float*>(out), static_cast<const float*>(inputs[0]),
             static_cast<const float*>(inputs[1]));
  else
    throw std::logic_error("products are formed in f64 or f32");
}

}  // namespace shardproof::cpu
