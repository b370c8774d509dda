#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/packed_product.h"
#include "kernels/cpu/rounded.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/vector_steps.h"

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

/// Row-major: the entries of a row are contiguous.
bool by_rows(const MatrixStrides& x, int64_t columns) { return x.column == 1 || columns == 1; }

/// Below this size a library call costs more than the product.
constexpr int64_t least_of_library = 16 * 16 * 16;

struct Sizes {
  int64_t m = 1, n = 1, k = 1;
};

template <class T, int order_a, int order_b>
void eigen_product(const Sizes& s, const T* a, int64_t a_stride, const T* b, int64_t b_stride, T* c,
                   int64_t c_row, bool adds) {
  auto to = matrix<T, RowMajor>(c, s.m, s.n, c_row);
  const auto left = matrix<const T, order_a>(a, s.m, s.k, a_stride);
  const auto right = matrix<const T, order_b>(b, s.k, s.n, b_stride);
  if (adds)
    to.noalias() += left * right;
  else
    to.noalias() = left * right;
}

/// c = a b, or c += a b; c is row-major.
template <class T>
void product_at_once(const Sizes& s, const T* a, const MatrixStrides& at_a, const T* b,
                     const MatrixStrides& at_b, T* c, int64_t c_row, bool adds) {
  if constexpr (std::is_same_v<T, float>)
    if (s.m * s.n * s.k > least_of_library &&
        onednn_product(s.m, s.n, s.k, {a, at_a}, {b, at_b}, c, c_row, adds))
      return;
  if (by_rows(at_a, s.k)) {
    if (by_rows(at_b, s.n))
      eigen_product<T, RowMajor, RowMajor>(s, a, at_a.row, b, at_b.row, c, c_row, adds);
    else
      eigen_product<T, RowMajor, ColMajor>(s, a, at_a.row, b, at_b.column, c, c_row, adds);
  } else if (by_rows(at_b, s.n)) {
    eigen_product<T, ColMajor, RowMajor>(s, a, at_a.column, b, at_b.row, c, c_row, adds);
  } else {
    eigen_product<T, ColMajor, ColMajor>(s, a, at_a.column, b, at_b.column, c, c_row, adds);
  }
}

/// The same. Some rows of c from a wide transposed a take few terms at a time: the lines of a
/// column are then few enough for the cache, where widths like 1024 and 3072 leave room for few.
/// Sums of 1024 terms took up to a fifth less time.
template <class T>
void product_without_tiles(const Sizes& s, const T* a, const MatrixStrides& at_a, const T* b,
                           const MatrixStrides& at_b, T* c, int64_t c_row, bool adds) {
  constexpr int64_t wide = 1024, many_terms = 512, few_terms = 128;
  const bool some_rows = std::is_same_v<T, float> && !by_rows(at_a, s.k) && by_rows(at_b, s.n) &&
                         at_a.column > s.m && at_a.column >= wide && s.k >= many_terms;
  const int64_t most = some_rows ? few_terms : std::max<int64_t>(s.k, 1);
  for (int64_t p = 0; p == 0 || p < s.k; p += most)
    product_at_once({s.m, s.n, std::min(most, s.k - p)}, a + p * at_a.column, at_a,
                    b + p * at_b.row, at_b, c, c_row, adds || p > 0);
}

template <class T>
void product(const Sizes& s, const T* a, const MatrixStrides& at_a, const T* b,
             const MatrixStrides& at_b, T* c, int64_t c_row, bool adds) {
  const auto of = [&](const ProductBlock& block, bool goes_on) {
    product_without_tiles({block.m, block.n, block.k},
                          a + block.i * at_a.row + block.p * at_a.column, at_a,
                          b + block.p * at_b.row + block.j * at_b.column, at_b,
                          c + block.i * c_row + block.j, c_row, goes_on);
  };
  if constexpr (std::is_same_v<T, float>)
    if (is_worth_packing(s.m, s.n, s.k))
      return packed_product(s.m, s.n, s.k, {a, at_a}, {b, at_b}, c, c_row, adds, of);
  of({0, s.m, 0, s.n, 0, s.k}, adds);
}

/// A product of the batch, or some of its rows and columns: offsets of c, a and b, and how many.
struct Piece {
  int64_t c = 0, a = 0, b = 0, rows = 0, columns = 0;
};

bool is_of(Element element, const Matmul& op) {
  return std::ranges::all_of(op.elements, [&](Element each) { return each == element; });
}

/// Whether tiles compute it.
bool is_packed(const Matmul& op) {
  return (is_of(Element::f32, op) ||
          (op.elements[1] == Element::bf16 && op.elements[2] == Element::bf16)) &&
         is_worth_packing(op.m, op.n, op.k);
}

/// How many parts the rows and the columns of each product are cut into, so that threads share
/// them. That depends on the sizes alone. A part is large enough that packing its operands again
/// costs little. oneDNN's products of bf16 are fastest if parts are nearly square or, where a is
/// transposed or the sums are short, have whole rows of c: for short sums oneDNN 2.6 has a faster
/// AMX kernel, which takes no operands with gaps.
struct Grid {
  int64_t rows = 1, columns = 1;
};

Grid grid_of(const Matmul& op) {
  constexpr int64_t few_terms = 512, most_rows = 1024, most_pieces = 16;
  const int64_t products = std::max<int64_t>(op.batch.count(), 1);
  if (is_packed(op)) {
    // Columns as they are packed. Each part of the rows packs b again: few, if threads have no
    // other parts to share, or large ones.
    const int64_t columns = (op.n + packed_columns - 1) / packed_columns,
                  shared = products * columns;
    return {shared < 2 ? std::clamp<int64_t>(op.m / 128, 1, 2)
                       : std::clamp<int64_t>(op.m / most_rows, 1,
                                             std::max<int64_t>(most_pieces / shared, 1)),
            columns};
  }
  const int64_t work = products * op.m * op.n * op.k;
  const bool narrow = op.elements[1] == Element::bf16, transposed = !by_rows(op.a, op.k);
  // In halves, where others would stay whole: a step of a Llama of 10 M parameters took a sixth
  // less time on two threads, and as much on one.
  const bool halved = !narrow && work <= int64_t{1} << 26;
  const int64_t of_all =
      halved ? std::min<int64_t>(work >> 23, 2) : std::min<int64_t>(work >> 25, most_pieces);
  const int64_t pieces = std::max<int64_t>(of_all / products, 1);
  const int64_t least = halved ? 128 : transposed ? 256 : 384;
  const auto parts = [](int64_t extent, int64_t least_side, int64_t most) {
    return std::max<int64_t>(std::min(extent / least_side, most), 1);
  };
  if (transposed && op.n >= op.m) return {1, parts(op.n, least, pieces)};
  if (transposed) {
    // Of an unembedding's gradient in f32, 1024 rows took a twelfth less time than 3200.
    const bool high = !narrow && pieces == most_pieces && op.m > most_pieces * most_rows;
    return {high ? (op.m + most_rows - 1) / most_rows : parts(op.m, least, pieces), 1};
  }
  const auto side = std::sqrt(static_cast<double>(op.m * op.n) / static_cast<double>(pieces));
  const auto of_square = std::llround(static_cast<double>(op.m) / std::max(side, 1.0));
  const int64_t rows =
      narrow && op.k <= few_terms ? parts(op.m, 128, pieces) : parts(op.m, least, of_square);
  return {rows, parts(op.n, least, pieces / rows)};
}

std::vector<Piece> pieces_of(const Matmul& op) {
  const Nest& batch = op.batch;
  const Grid grid = grid_of(op);
  const auto length = [](int64_t extent, int64_t parts) {
    return parts == 1 ? std::max<int64_t>(extent, 1)
                      : ((extent + parts - 1) / parts + 63) / 64 * 64;
  };
  const int64_t height = length(op.m, grid.rows), width = length(op.n, grid.columns);
  std::vector<Piece> pieces;
  const int64_t count = batch.inner();
  for_each_row(batch, [&](const int64_t* at) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t column = 0; column == 0 || column < op.n; column += width)
        for (int64_t row = 0; row == 0 || row < op.m; row += height)
          pieces.push_back({at[0] + i * batch.inner_stride(0) + row * op.c.row + column,
                            at[1] + i * batch.inner_stride(1) + row * op.a.row,
                            at[2] + i * batch.inner_stride(2) + column * op.b.column,
                            std::min(height, op.m - row), std::min(width, op.n - column)});
  });
  return pieces;
}

/// Calls `each` with every piece, on this rank's threads unless the work is small. c is row-major.
template <class Each>
void for_each_piece(const Matmul& op, Each each) {
  const std::vector<Piece> pieces = pieces_of(op);
  constexpr int64_t least_shared = int64_t{1} << 20;
  const auto count = static_cast<int64_t>(pieces.size());
  const auto at = [&](int64_t i) { each(pieces[static_cast<size_t>(i)]); };
  if (op.batch.count() * op.m * op.n * op.k < least_shared)
    for (int64_t i = 0; i < count; ++i) at(i);
  else
    in_pieces(count, at);
}

template <class T>
void products(const Matmul& op, void* c, const void* a, const void* b) {
  for_each_piece(op, [&](const Piece& piece) {
    product({piece.rows, piece.columns, op.k}, static_cast<const T*>(a) + piece.a, op.a,
            static_cast<const T*>(b) + piece.b, op.b, static_cast<T*>(c) + piece.c, op.c.row,
            false);
  });
}

// --- bf16: converts blocks of the operands to f32 that fit in the cache ---

constexpr int64_t block_rows = 512, block_columns = 512, block_terms = 1024;

/// A block of an operand as f32: in place, or converted.
struct Part {
  const float* data = nullptr;
  MatrixStrides strides;
};

/// Rows and columns, starting at (i, j).
struct Range {
  int64_t i = 0, rows = 0, j = 0, columns = 0;
};

/// The workspace for one product at a time; it is kept, a few MiB.
struct Scratch {
  std::vector<float> a, b, c;
};
Scratch& scratch() {
  thread_local Scratch own;
  return own;
}
float* with_room(std::vector<float>& memory, int64_t entries) {
  memory.resize(std::max(memory.size(), static_cast<size_t>(entries)));
  return memory.data();
}

Part part(Element element, const void* x, const MatrixStrides& strides, const Range& range,
          std::vector<float>& memory) {
  const int64_t first = range.i * strides.row + range.j * strides.column;
  if (element == Element::f32) return {static_cast<const float*>(x) + first, strides};
  const bool rows = by_rows(strides, range.columns);
  const int64_t lines = rows ? range.rows : range.columns,
                length = rows ? range.columns : range.rows;
  const int64_t apart = rows ? strides.row : strides.column;
  float* const made = with_room(memory, lines * length);
  const VectorSteps* const vectors = vector_steps(isa());
  for (int64_t line = 0; line < lines; ++line) {
    const uint16_t* from = static_cast<const uint16_t*>(x) + first + line * apart;
    float* to = made + line * length;
    if (vectors)
      vectors->load_rows_bf16(to, from, {1, 0, length});
    else
      for (int64_t i = 0; i < length; ++i) to[i] = bf16_to_f32(from[i]);
  }
  return {made, rows ? MatrixStrides{length, 1} : MatrixStrides{1, length}};
}

/// Calls each(x as a matrix of bf16, or of f32 that is rounded to bf16).
template <class Each>
void with_matrix(Element element, const void* x, const MatrixStrides& strides, const Each& each) {
  if (element == Element::f32)
    each(Matrix<Rounded>{static_cast<const Rounded*>(x), strides});
  else
    each(Bf16Matrix{static_cast<const uint16_t*>(x), strides});
}

/// By tiles; operands of f32 are rounded to bf16. c is f32 or bf16.
void by_tiles(const Matmul& op, void* c, const void* a, const void* b, bool adds) {
  with_matrix(op.elements[1], a, op.a, [&](const auto& left) {
    with_matrix(op.elements[2], b, op.b, [&](const auto& right) {
      const auto into = [&](auto* to) {
        packed_product(op.m, op.n, op.k, left, right, to, op.c.row, adds);
      };
      if (op.elements[0] == Element::f32)
        into(static_cast<float*>(c));
      else
        into(static_cast<uint16_t*>(c));
    });
  });
}

/// From bf16 in memory, without conversion: by tiles, or by oneDNN. Of oneDNN, a large f32 result,
/// or some columns of one, is made in blocks that stay in the L2 cache, each then copied: that took
/// half to four fifths of the time of writing into it.
bool of_bf16(const Matmul& op, void* c, const void* a, const void* b, bool adds) {
  const auto [to, left, right] = op.elements;
  if (left != Element::bf16 || right != left || op.m * op.n * op.k <= least_of_library)
    return false;
  if (is_packed(op)) {
    by_tiles(op, c, a, b, adds);
    return true;
  }
  const auto *const from_a = static_cast<const uint16_t*>(a), *const from_b =
                                                                  static_cast<const uint16_t*>(b);
  constexpr int64_t rows = 256, columns = 1024;
  const bool dense = op.c.row == op.n;
  if (to == Element::bf16 || adds || (dense && op.m * op.n <= rows * columns))
    return onednn_product(op.m, op.n, op.k, {from_a, op.a}, {from_b, op.b}, c, op.c.row,
                          to == Element::bf16, adds);
  float* const block = with_room(scratch().c, rows * columns);
  for (int64_t j = 0; j < op.n; j += columns)
    for (int64_t i = 0; i < op.m; i += rows) {
      const int64_t m = std::min(rows, op.m - i), n = std::min(columns, op.n - j);
      if (!onednn_product(m, n, op.k, {from_a + i * op.a.row, op.a},
                          {from_b + j * op.b.column, op.b}, block, n, false, false))
        return false;
      for (int64_t row = 0; row < m; ++row)
        std::copy_n(block + row * n, n, static_cast<float*>(c) + (i + row) * op.c.row + j);
    }
  return true;
}

/// Computes the product, or adds it to c if c is f32. c is row-major. Sums in f32 and rounds
/// once.
void in_blocks(const Matmul& op, void* c, const void* a, const void* b, bool adds) {
  Scratch& own = scratch();
  const bool rounds = op.elements[0] == Element::bf16;
  for (int64_t j = 0; j < op.n; j += block_columns)
    for (int64_t i = 0; i < op.m; i += block_rows) {
      const int64_t m = std::min(block_rows, op.m - i), n = std::min(block_columns, op.n - j);
      const int64_t first = i * op.c.row + j;
      float* sums = rounds ? with_room(own.c, m * n) : static_cast<float*>(c) + first;
      const int64_t apart = rounds ? n : op.c.row;
      for (int64_t p = 0; p == 0 || p < op.k; p += block_terms) {
        const int64_t k = std::min(block_terms, op.k - p);
        const Part left = part(op.elements[1], a, op.a, {i, m, p, k}, own.a);
        const Part right = part(op.elements[2], b, op.b, {p, k, j, n}, own.b);
        product({m, n, k}, left.data, left.strides, right.data, right.strides, sums, apart,
                adds || p > 0);
      }
      for (int64_t row = 0; rounds && row < m; ++row) {
        uint16_t* to = static_cast<uint16_t*>(c) + first + row * op.c.row;
        const float* from = sums + row * n;
        for (int64_t column = 0; column < n; ++column) to[column] = f32_to_bf16(from[column]);
      }
    }
}

const void* moved(Element element, const void* x, int64_t entries) {
  return static_cast<const char*>(x) + entries * static_cast<int64_t>(size_of(element));
}

/// Calls each(a part of the op, c, a, b), cut as `as` is.
template <class Each>
void in_parts(const Matmul& op, const Matmul& as, void* c, const void* a, const void* b,
              const Each& each) {
  const auto [to, left, right] = op.elements;
  for_each_piece(as, [&, to = to, left = left, right = right](const Piece& piece) {
    Matmul some = op;
    some.m = piece.rows;
    some.n = piece.columns;
    char* const made = static_cast<char*>(c) + piece.c * static_cast<int64_t>(size_of(to));
    each(some, made, moved(left, a, piece.a), moved(right, b, piece.b));
  });
}

/// c' = b' a', whose operands are those of c = a b, swapped.
Matmul flipped(Matmul op) {
  std::swap(op.m, op.n);
  std::swap(op.a, op.b);
  for (MatrixStrides* x : {&op.a, &op.b, &op.c}) std::swap(x->row, x->column);
  if (!op.batch.strides.empty()) std::swap(op.batch.strides[1], op.batch.strides[2]);
  std::swap(op.elements[1], op.elements[2]);
  return op;
}

/// The product of operands that are rounded already.
Matmul of_rounded(const RoundedProduct& op) {
  Matmul product = op.product;
  product.elements[1] = product.elements[2] = Element::bf16;
  return product;
}

}  // namespace

void multiply(const Matmul& op, void* c, const void* a, const void* b, bool adds) {
  if (is_of(Element::f32, op))
    product({op.m, op.n, op.k}, static_cast<const float*>(a), op.a, static_cast<const float*>(b),
            op.b, static_cast<float*>(c), op.c.row, adds);
  else if (!of_bf16(op, c, a, b, adds))
    in_blocks(op, c, a, b, adds);
}

bool multiplies(Element c, Element a, Element b) {
  const auto narrow = [](Element x) { return x == Element::f32 || x == Element::bf16; };
  return (c == Element::f64 && a == c && b == c) || (narrow(c) && narrow(a) && narrow(b));
}

void run(const Matmul& op, void* out, const void* const* inputs) {
  if (!by_rows(op.c, op.n)) {
    const void* swapped[] = {inputs[1], inputs[0]};
    return run(flipped(op), out, swapped);
  }
  const auto [c, a, b] = op.elements;
  if (!multiplies(c, a, b)) throw std::logic_error("no product of such entries");
  if (c == Element::f64)
    products<double>(op, out, inputs[0], inputs[1]);
  else if (is_of(Element::f32, op))
    products<float>(op, out, inputs[0], inputs[1]);
  else
    in_parts(op, op, out, inputs[0], inputs[1],
             [](const Matmul& part, void* to, const void* left, const void* right) {
               multiply(part, to, left, right, false);
             });
}

bool has_tiles_for(const RoundedProduct& op) {
  const auto [c, a, b] = op.product.elements;
  const auto is_float = [](Element x) { return x == Element::f32 || x == Element::bf16; };
  const bool by_lines = by_rows(op.product.c, op.product.n);
  return is_float(a) && is_float(b) && is_float(c) &&
         is_packed(by_lines ? of_rounded(op) : flipped(of_rounded(op)));
}

void run(const RoundedProduct& op, void* const* outputs, const void* const* inputs) {
  const Matmul& product = op.product;
  if (!by_rows(product.c, product.n)) {
    const void* swapped[] = {inputs[1], inputs[0]};
    return run(RoundedProduct{flipped(product)}, outputs, swapped);
  }
  in_parts(product, of_rounded(op), outputs[0], inputs[0], inputs[1],
           [](const Matmul& part, void* to, const void* left, const void* right) {
             by_tiles(part, to, left, right, false);
           });
}

}  // namespace shardproof::cpu
