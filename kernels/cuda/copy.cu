#include "kernels/cuda/entry.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"
#include "kernels/cuda/report.h"
#include "kernels/cuda/wide.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

/// A part whose first entry is data that only the kernel can read.
struct Part {
  const void* first_at = nullptr;  ///< null: no operand moves
  Element element = Element::i32;
  bool moves_out = false;
  int64_t count = 0, extent = 0, stride = 0;  ///< stride in words of the copy
  Report report;

  /// Offsets the moving operand; returns false if the part is outside its dim.
  template <class T>
  SHARDPROOF_DEVICE bool move(T*& out, const T*& in) const {
    if (!first_at) return true;
    const int64_t first = load_integer(element, first_at, 0);
    if (first < 0 || first + count > extent) {
      report.leave(Fault::part, first, extent);
      return false;
    }
    if (moves_out)
      out += first * stride;
    else
      in += first * stride;
    return true;
  }
};

template <class T>
struct CopyKernel {
  Loops<2> loops;
  T* out;
  const T* in;
  Part part;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    T* to = out;
    const T* from = in;
    if (!part.move(to, from)) return;
    each_of(block, loops.count, [&](int64_t i) {
      int64_t at[2];
      loops.find(i, at);
      to[at[0]] = from[at[1]];
    });
  }
};

constexpr int tile_side = 32;

/// A tiled transpose: if out is contiguous in one loop and in in another, square tiles go through
/// shared memory, so that both are accessed along their rows.
template <class T>
struct TransposeKernel {
  Loops<2> others;
  T* out;
  const T* in;
  Part part;
  int64_t rows, columns;          ///< extents: in is contiguous along rows, out along columns
  int64_t out_stride, in_stride;  ///< of out along rows, of in along columns

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    T* to = out;
    const T* from = in;
    if (!part.move(to, from)) return;
    const int64_t down = tiles(rows), across = tiles(columns);
    for (int64_t i = block.index(); i < others.count * down * across; i += block.blocks()) {
      int64_t at[2];
      others.find(i / (down * across), at);
      tile(block, to + at[0], from + at[1], i / across % down * tile_side, i % across * tile_side);
    }
  }

  SHARDPROOF_HD static int64_t tiles(int64_t extent) {
    return (extent + tile_side - 1) / tile_side;
  }

  SHARDPROOF_DEVICE void tile(Block& block, T* to, const T* from, int64_t row,
                              int64_t column) const {
    T* words = block.shared<T>();  // [column, row], padded by a word against bank conflicts
    block.each([&](int thread) {
      const int lane = thread % tile_side;
      for (int c = thread / tile_side; c < tile_side; c += block.threads() / tile_side)
        if (row + lane < rows && column + c < columns)
          words[c * (tile_side + 1) + lane] = from[row + lane + (column + c) * in_stride];
    });
    block.each([&](int thread) {
      const int lane = thread % tile_side;
      for (int r = thread / tile_side; r < tile_side; r += block.threads() / tile_side)
        if (row + r < rows && column + lane < columns)
          to[(row + r) * out_stride + column + lane] = words[lane * (tile_side + 1) + r];
    });
  }
};

/// The loop in which in is contiguous, if a transpose by tiles is worthwhile; -1: none.
int64_t transposed_loop(const Nest& nest) {
  constexpr int64_t least = 8;
  if (nest.inner_stride(0) != 1 || nest.inner_stride(1) == 1 || nest.inner() < least) return -1;
  for (size_t d = 0; d + 1 < nest.extents.size(); ++d)
    if (nest.strides[1][d] == 1 && nest.extents[d] >= least) return static_cast<int64_t>(d);
  return -1;
}

template <class T>
void transpose(const Stream& stream, const Nest& nest, size_t loop, const Part& part, T* out,
               const T* in) {
  TransposeKernel<T> kernel{{},
                            out,
                            in,
                            part,
                            nest.extents[loop],
                            nest.inner(),
                            nest.strides[0][loop],
                            nest.inner_stride(1)};
  Nest others;
  others.strides.resize(2);
  for (size_t d = 0; d + 1 < nest.extents.size(); ++d) {
    if (d == loop) continue;
    others.extents.push_back(nest.extents[d]);
    for (size_t k = 0; k < 2; ++k) others.strides[k].push_back(nest.strides[k][d]);
  }
  kernel.others = loops_of<2>(others);
  const int64_t tiles =
      kernel.others.count * kernel.tiles(kernel.rows) * kernel.tiles(kernel.columns);
  launch<usual_threads>(stream, blocks_for(tiles, 1), kernel,
                        tile_side * (tile_side + 1) * sizeof(T));
}

/// Copies words T, each of one or several entries.
template <class T>
void copy_words(const Stream& stream, const Nest& nest, const Part& part, void* to,
                const void* from) {
  T* out = words_at<T>(to);
  const T* in = words_at<T>(from);
  if constexpr (sizeof(T) < 16)
    if (const int64_t loop = transposed_loop(nest); loop >= 0)
      return transpose(stream, nest, static_cast<size_t>(loop), part, out, in);
  launch_each(stream, nest.count(), CopyKernel<T>{loops_of<2>(nest), out, in, part});
}

/// For a coalesced nest.
void copy_nest(const Stream& stream, const Nest& nest, size_t bytes, Part part, void* out,
               const void* in) {
  if (nest.count() == 0) return;
  const int64_t factor = joined(nest, {2, bytes, {out, in}, part.stride});
  part.stride /= factor;
  with_word(bytes * static_cast<size_t>(factor), [&](auto word) {
    copy_words<decltype(word)>(stream, widened(nest, 2, factor), part, out, in);
  });
}

/// One long row: words, then the remaining entries.
void copy_row(const Stream& stream, const Nest& nest, size_t bytes, const Part& part, void* out,
              const void* in) {
  const int64_t entries = 16 / static_cast<int64_t>(bytes),
                words = nest.inner() / entries * entries;
  auto piece = [&](int64_t first, int64_t count) {
    const int64_t skip = first * static_cast<int64_t>(bytes);
    copy_nest(stream, Nest{{count}, {{1}, {1}}}, bytes, part, static_cast<char*>(out) + skip,
              static_cast<const char*>(in) + skip);
  };
  piece(0, words);
  piece(words, nest.inner() - words);
}

struct ZeroKernel {
  unsigned char* out;
  int64_t words, bytes;  ///< of 16 bytes each; all bytes

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, words, [&](int64_t i) { words_at<Bytes16>(out)[i] = {}; });
    each_of(block, bytes - words * 16, [&](int64_t i) { out[words * 16 + i] = 0; });
  }
};

template <class T>
struct RollKernel {
  Loops<3> loops;  ///< out, in, the index of the rolled dim (in has stride 0 there)
  T* out;
  const T* in;
  const void* by_at;
  Element by;
  int64_t extent, stride;  ///< of the rolled dim in in

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t shift = (load_integer(by, by_at, 0) % extent + extent) % extent;
    each_of(block, loops.count, [&](int64_t i) {
      int64_t at[3];
      loops.find(i, at);
      const int64_t from = at[2] - shift < 0 ? at[2] - shift + extent : at[2] - shift;
      out[at[0]] = in[at[1] + from * stride];
    });
  }
};

}  // namespace

void run(const Stream& stream, const Copy& op, void* out, const void* const* inputs) {
  const Nest nest = coalesced(op.nest);
  Part part;
  if (const auto& moving = op.moving)
    part = {inputs[1],      moving->element, moving->operand == 0, moving->count,
            moving->extent, moving->stride,  report_to(stream)};
  const bool long_row = nest.extents.size() == 1 && nest.inner_stride(0) == 1 &&
                        nest.inner_stride(1) == 1 && nest.inner() >= 1024;
  if (long_row)
    copy_row(stream, nest, op.bytes, part, out, inputs[0]);
  else
    copy_nest(stream, nest, op.bytes, part, out, inputs[0]);
}

void run(const Stream& stream, const Zero& op, void* out, const void* const*) {
  const auto bytes = static_cast<int64_t>(op.bytes);
  const int64_t words = reinterpret_cast<uintptr_t>(out) % 16 == 0 ? bytes / 16 : 0;
  launch_each(stream, words ? words : bytes,
              ZeroKernel{static_cast<unsigned char*>(out), words, bytes});
}

void run(const Stream& stream, const Roll& op, void* out, const void* const* inputs) {
  Nest nest = op.nest;
  const int64_t extent = nest.extents.at(op.dim), stride = nest.strides[1][op.dim];
  nest.strides[1][op.dim] = 0;
  nest.strides.emplace_back(nest.extents.size(), 0);
  nest.strides[2][op.dim] = 1;
  if (nest.count() == 0) return;
  with_word(op.bytes, [&](auto word) {
    using T = decltype(word);
    launch_each(stream, nest.count(),
                RollKernel<T>{loops_of<3>(nest), static_cast<T*>(out),
                              static_cast<const T*>(inputs[0]), inputs[1], op.by, extent, stride});
  });
}

void run(const Stream& stream, const Reverse& op, void* out, const void* const* inputs) {
  if (op.nest.count() == 0) return;
  const auto [nest, first] = backwards(op);
  copy_nest(stream, coalesced(nest), op.bytes, Part{}, out,
            static_cast<const unsigned char*>(inputs[0]) + first * static_cast<int64_t>(op.bytes));
}

}  // namespace shardproof::SHARDPROOF_MACHINE
