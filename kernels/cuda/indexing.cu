#include <stdexcept>

#include "kernels/cuda/entry.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"
#include "kernels/cuda/report.h"
#include "kernels/cuda/wide.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

struct Ids {
  const void* data;
  Element element;
  IndexWindow window;
  Report report;

  SHARDPROOF_DEVICE int64_t id(int64_t at) const { return load_integer(element, data, at); }
  /// The row here that the id names; -1: another rank's, or none, which is a fault.
  SHARDPROOF_DEVICE int64_t row_of(int64_t id) const {
    const int64_t row = id - window.first;
    if (row >= 0 && row < window.extent) return row;
    if (!window.partial) report.leave(Fault::index, id, window.extent);
    return -1;
  }
};

template <class T>
struct IndexKernel {
  Loops<3> loops;  ///< out, table, ids
  T* out;
  const T* table;
  Ids ids;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, loops.count, [&](int64_t i) {
      int64_t at[3];
      loops.find(i, at);
      const int64_t row = ids.row_of(ids.id(at[2]));
      out[at[0]] = row < 0 ? T{} : table[at[1] + row * ids.window.stride];
    });
  }
};

/// How entries of x are read, as a sum of T: as one element, or as any.
template <class T, Element E>
struct ReadOne {
  static constexpr int at_once = 4;  ///< terms that are read before the first is added
  const void* x;
  SHARDPROOF_DEVICE T operator()(int64_t at) const {
    return static_cast<T>(load_real<T>(E, x, at));
  }
};
template <class T>
struct ReadAny {
  static constexpr int at_once = 1;
  const void* x;
  Element element;
  SHARDPROOF_DEVICE T operator()(int64_t at) const {
    if (is_real(element)) return static_cast<T>(load_real<double>(element, x, at));
    return static_cast<T>(load_integer(element, x, at));
  }
};

constexpr int columns_per_thread = 4;

/// Columns of one row that one thread adds up: where they are in x.
template <class T>
struct Columns {
  bool mine[columns_per_thread];
  int64_t x[columns_per_thread];
  T sum[columns_per_thread];
};

/// A block for each term and some columns. The block of the first term with an id adds up all terms
/// that have it, in order; the others find that they are not the first, and end.
template <class T, class Read>
struct IndexAddKernel {
  Loops<3> batches;  ///< out, ids, x: loops in which the ids move, and the sum too
  Loops<2> terms;    ///< ids, x: loops in which the sum stands still
  Loops<2> columns;  ///< out, x: loops in which the ids stand still
  int64_t pieces;    ///< of the columns
  T* out;
  Read read;
  Ids ids;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t all = batches.count * pieces * terms.count;
    for (int64_t i = block.index(); i < all; i += block.blocks())
      add(block, i / terms.count / pieces, i / terms.count % pieces, i % terms.count);
  }

  SHARDPROOF_DEVICE void add(Block& block, int64_t batch, int64_t piece, int64_t first) const {
    int64_t at[3];
    batches.find(batch, at);
    const int64_t mine = ids.id(at[1] + terms.first_at(first)), row = ids.row_of(mine);
    if (row < 0) return;
    uint32_t* words = block.shared<uint32_t>();
    auto equal = [&](int64_t term, int64_t end) {
      return term < end && ids.id(at[1] + terms.first_at(term)) == mine;
    };
    for (int64_t begin = 0; begin < first; begin += block.threads())
      if (block.vote(words, [&](int thread) { return equal(begin + thread, first); })) return;
    PerThread<Columns<T>> own;
    block.each([&](int thread) { own[thread] = columns_of(block, piece, thread); });
    for (int64_t begin = first; begin < terms.count; begin += block.threads())
      if (block.vote(words, [&](int thread) { return equal(begin + thread, terms.count); }))
        block.each([&](int thread) {
          add_terms(own[thread], words, block.threads() / warp_threads, begin, at[2]);
        });
    block.each_alone([&](int thread) {
      const Columns<T>& sums = own[thread];
      SHARDPROOF_UNROLL(columns_per_thread)
      for (int c = 0; c < columns_per_thread; ++c)
        if (sums.mine[c])
          out[at[0] + row * ids.window.stride + columns.first_at(column(block, piece, thread, c))] =
              sums.sum[c];
    });
  }

  SHARDPROOF_DEVICE static int64_t column(Block& block, int64_t piece, int thread, int c) {
    return (piece * columns_per_thread + c) * block.threads() + thread;
  }
  SHARDPROOF_DEVICE Columns<T> columns_of(Block& block, int64_t piece, int thread) const {
    Columns<T> result;
    SHARDPROOF_UNROLL(columns_per_thread)
    for (int c = 0; c < columns_per_thread; ++c) {
      const int64_t i = column(block, piece, thread, c);
      int64_t at[2] = {0, 0};
      result.mine[c] = i < columns.count;
      if (result.mine[c]) columns.find(i, at);
      result.x[c] = at[1];
      result.sum[c] = 0;
    }
    return result;
  }

  /// The terms whose bits are set, from `begin` on.
  SHARDPROOF_DEVICE void add_terms(Columns<T>& to, const uint32_t* words, int n, int64_t begin,
                                   int64_t x_at) const {
    constexpr int at_once = Read::at_once;
    for (int w = 0; w < n; ++w)
      for (uint32_t word = words[w]; word != 0;) {
        T entries[at_once][columns_per_thread] = {};
        bool there[at_once];
        SHARDPROOF_UNROLL(at_once)
        for (int t = 0; t < at_once; ++t) {
          there[t] = word != 0;
          if (!there[t]) continue;
          int64_t at[2];
          terms.find(begin + w * warp_threads + lowest_bit(word), at);
          word &= word - 1;
          SHARDPROOF_UNROLL(columns_per_thread)
          for (int c = 0; c < columns_per_thread; ++c)
            if (to.mine[c]) entries[t][c] = read(x_at + at[1] + to.x[c]);
        }
        SHARDPROOF_UNROLL(at_once)
        for (int t = 0; t < at_once; ++t) {
          SHARDPROOF_UNROLL(columns_per_thread)
          for (int c = 0; c < columns_per_thread; ++c)
            if (there[t] && to.mine[c]) to.sum[c] += entries[t][c];
        }
      }
  }
};

/// The loops that `keep` names, of the operands.
template <int operands, class Keep>
Loops<operands> chosen(const Nest& nest, const size_t (&chosen_operands)[operands], Keep keep) {
  Nest result;
  result.strides.resize(operands);
  for (size_t d = 0; d < nest.extents.size(); ++d) {
    if (!keep(nest.strides[0][d] != 0, nest.strides[1][d] != 0)) continue;
    result.extents.push_back(nest.extents[d]);
    for (size_t k = 0; k < operands; ++k)
      result.strides[k].push_back(nest.strides[chosen_operands[k]][d]);
  }
  return loops_of<operands>(result);
}

template <class T, class Read>
void index_add(const Stream& stream, const IndexAdd& op, void* out, const void* id_data,
               const Read& read) {
  run(stream, Zero{static_cast<size_t>(op.count) * sizeof(T)}, out, nullptr);
  const Nest nest = coalesced(op.nest);
  if (nest.count() == 0) return;
  IndexAddKernel<T, Read> kernel;
  kernel.batches = chosen<3>(nest, {0, 1, 2}, [](bool sum, bool ids) { return sum && ids; });
  kernel.terms = chosen<2>(nest, {1, 2}, [](bool sum, bool) { return !sum; });
  kernel.columns = chosen<2>(nest, {0, 2}, [](bool sum, bool ids) { return sum && !ids; });
  constexpr int64_t width = usual_threads * columns_per_thread;
  kernel.pieces = (kernel.columns.count + width - 1) / width;
  kernel.out = static_cast<T*>(out);
  kernel.read = read;
  kernel.ids = {id_data, op.ids, op.window, report_to(stream)};
  const int64_t blocks = kernel.batches.count * kernel.terms.count * kernel.pieces;
  launch<usual_threads>(stream, blocks_for(blocks, 1), kernel,
                        usual_threads / warp_threads * sizeof(uint32_t));
}

}  // namespace

void run(const Stream& stream, const Index& op, void* out, const void* const* inputs) {
  const Nest nest = coalesced(op.nest);
  if (nest.count() == 0) return;
  const size_t bytes = size_of(op.element);
  const int64_t factor = joined(nest, {2, bytes, {out, inputs[0]}, op.window.stride});
  Ids ids{inputs[1], op.ids, op.window, report_to(stream)};
  ids.window.stride /= factor;
  const Loops<3> loops = loops_of<3>(widened(nest, 2, factor));
  with_word(bytes * static_cast<size_t>(factor), [&](auto word) {
    using T = decltype(word);
    launch_each(stream, loops.count,
                IndexKernel<T>{loops, static_cast<T*>(out), static_cast<const T*>(inputs[0]), ids});
  });
}

void run(const Stream& stream, const IndexAdd& op, void* out, const void* const* inputs) {
  const void *ids = inputs[0], *x = inputs[1];
  switch (op.sum) {
    case Element::f64:
      return index_add<double>(stream, op, out, ids, ReadAny<double>{x, op.x});
    case Element::f32:
      if (op.x == Element::f32)
        return index_add<float>(stream, op, out, ids, ReadOne<float, Element::f32>{x});
      if (op.x == Element::bf16)
        return index_add<float>(stream, op, out, ids, ReadOne<float, Element::bf16>{x});
      return index_add<float>(stream, op, out, ids, ReadAny<float>{x, op.x});
    case Element::i32:
    case Element::u32:  // both wrap
      return index_add<uint32_t>(stream, op, out, ids, ReadAny<uint32_t>{x, op.x});
    default:
      throw std::logic_error("sums are formed in f64, f32, i32 or u32");
  }
}

}  // namespace shardproof::SHARDPROOF_MACHINE
