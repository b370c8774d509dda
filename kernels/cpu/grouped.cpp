#include "kernels/cpu/grouped.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/cpu/ids.h"
#include "kernels/cpu/kernels.h"

namespace shardproof::cpu {
namespace {

/// An entry of the batch: the local row of its id, and the offset of each operand.
struct Chosen {
  int64_t row;
  std::array<int64_t, 3> at;
};

/// The entries by row, each row's in the order of the batch; first those of other ranks (-1).
std::vector<Chosen> by_row(const Nest& batch, size_t operand, const IndexWindow& window,
                           Element ids, const void* data) {
  std::vector<Chosen> all;
  all.reserve(static_cast<size_t>(batch.count()));
  for_each_row(batch, [&](const int64_t* at) {
    for (int64_t i = 0; i < batch.inner(); ++i) {
      Chosen one{};
      for (size_t k = 0; k < one.at.size(); ++k) one.at[k] = at[k] + i * batch.inner_stride(k);
      one.row = row_of(id_at(ids, data, one.at[operand]), window);
      all.push_back(one);
    }
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const Chosen& a, const Chosen& b) { return a.row < b.row; });
  return all;
}

/// Calls `each` with up to `most` entries of one row at a time.
void for_each_part(const std::vector<Chosen>& all, size_t most,
                   const std::function<void(const Chosen* first, int64_t count)>& each) {
  for (size_t i = 0; i < all.size();) {
    size_t end = i + 1;
    while (end < all.size() && all[end].row == all[i].row && end - i < most) ++end;
    each(&all[i], static_cast<int64_t>(end - i));
    i = end;
  }
}

/// Moves `count` entries between places `apart` from each other and a dense array.
template <bool to_dense, class Dense, class Places>
void move_line(Dense* dense, Places* places, int64_t count, int64_t apart, size_t bytes) {
  const auto step = apart * static_cast<int64_t>(bytes);
  for (int64_t i = 0; i < count; ++i, dense += bytes, places += step)
    if constexpr (to_dense)
      std::memcpy(dense, places, bytes);
    else
      std::memcpy(places, dense, bytes);
}

/// Some rows of a matrix in memory, and the same rows without gaps.
struct Rows {
  int64_t rows, columns;
  MatrixStrides strides;
  size_t bytes;

  int64_t offset(int64_t at, int64_t row) const {
    return (at + row * strides.row) * static_cast<int64_t>(bytes);
  }
  void pack(std::byte* dense, const void* from, int64_t at) const {
    const auto* places = static_cast<const std::byte*>(from);
    for (int64_t row = 0; row < rows; ++row, dense += columns * static_cast<int64_t>(bytes))
      if (strides.column == 1)
        std::memcpy(dense, places + offset(at, row), static_cast<size_t>(columns) * bytes);
      else
        move_line<true>(dense, places + offset(at, row), columns, strides.column, bytes);
  }
  void unpack(const std::byte* dense, void* to, int64_t at) const {
    auto* places = static_cast<std::byte*>(to);
    for (int64_t row = 0; row < rows; ++row, dense += columns * static_cast<int64_t>(bytes))
      move_line<false>(dense, places + offset(at, row), columns, strides.column, bytes);
  }
  size_t size(int64_t count) const { return static_cast<size_t>(count * rows * columns) * bytes; }
  int64_t step() const { return rows * columns * static_cast<int64_t>(bytes); }
};

/// Enough rows that packing costs little compared with the product, and few enough that memory
/// stays small.
constexpr int64_t rows_at_once = 2048;

size_t entries_at_once(int64_t rows) {
  return static_cast<size_t>(std::max<int64_t>(rows_at_once / std::max<int64_t>(rows, 1), 1));
}

const std::byte* matrix_at(const void* table, int64_t row, const IndexWindow& window,
                           Element element) {
  return static_cast<const std::byte*>(table) +
         row * window.stride * static_cast<int64_t>(size_of(element));
}

Matmul dense_product(const Matmul& of, int64_t rows) {
  Matmul dense = of;
  dense.m = rows;
  dense.a = {of.k, 1};
  dense.c = {of.n, 1};
  dense.batch = {};
  dense.batch.strides.resize(3);
  return dense;
}

}  // namespace

void run(const GroupedProduct& op, void* const* outputs, const void* const* inputs) {
  const Matmul& product = op.product;
  const auto [element_c, element_a, element_table] = product.elements;
  const Rows a{product.m, product.k, product.a, size_of(element_a)},
      c{product.m, product.n, product.c, size_of(element_c)};
  std::vector<std::byte> left, made;
  const auto part = [&, table = element_table](const Chosen* first, int64_t count) {
    left.resize(std::max(left.size(), a.size(count)));
    made.resize(std::max(made.size(), c.size(count)));
    if (first->row < 0) {
      std::fill(made.begin(), made.end(), std::byte{0});
    } else {
      for (int64_t i = 0; i < count; ++i)
        a.pack(left.data() + i * a.step(), inputs[0], first[i].at[1]);
      const void* operands[] = {left.data(), matrix_at(inputs[1], first->row, op.window, table)};
      run(dense_product(product, count * product.m), made.data(), operands);
    }
    for (int64_t i = 0; i < count; ++i)
      c.unpack(made.data() + i * c.step(), outputs[0], first[i].at[0]);
  };
  for_each_part(by_row(product.batch, 2, op.window, op.ids, inputs[2]), entries_at_once(product.m),
                part);
}

void run(const GroupedSum& op, void* const* outputs, const void* const* inputs) {
  const Matmul& product = op.product;
  const auto [element_c, element_a, element_b] = product.elements;
  auto* const sums = static_cast<float*>(outputs[0]);
  std::fill_n(sums, op.count, 0.0f);
  const Rows a{1, product.m, {0, product.a.row}, size_of(element_a)},
      b{1, product.n, {0, product.b.column}, size_of(element_b)};
  std::vector<std::byte> left, right;
  const auto part = [&](const Chosen* first, int64_t count) {
    if (first->row < 0) return;
    left.resize(std::max(left.size(), a.size(count)));
    right.resize(std::max(right.size(), b.size(count)));
    for (int64_t i = 0; i < count; ++i) {
      a.pack(left.data() + i * a.step(), inputs[1], first[i].at[1]);
      b.pack(right.data() + i * b.step(), inputs[2], first[i].at[2]);
    }
    Matmul dense = product;  // the columns a times the rows b
    dense.k = count;
    dense.a = {1, product.m};
    dense.b = {product.n, 1};
    multiply(dense, sums + first->row * op.window.stride, left.data(), right.data(), true);
  };
  for_each_part(by_row(product.batch, 0, op.window, op.ids, inputs[0]),
                static_cast<size_t>(rows_at_once), part);
}

}  // namespace shardproof::cpu
