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

constexpr int columns_per_thread = 4;

/// Columns of one row that one thread adds up.
template <class T>
struct Columns {
  int count;
  int64_t out[columns_per_thread], x[columns_per_thread];
  T sum[columns_per_thread];
};

/// A block for each term and some columns. The block of the first term with an id adds up all terms
/// that have it, in order; the others find that they are not the first, and end.
template <class T>
struct IndexAddKernel {
  Loops<3> batches;  ///< out, ids, x: loops in which the ids move, and the sum too
  Loops<2> terms;    ///< ids, x: loops in which the sum stands still
  Loops<2> columns;  ///< out, x: loops in which the ids stand still
  int64_t pieces;    ///< of the columns
  T* out;
  const void* x;
  Element x_element;
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
      for (int c = 0; c < sums.count; ++c)
        out[at[0] + row * ids.window.stride + sums.out[c]] = sums.sum[c];
    });
  }

  SHARDPROOF_DEVICE Columns<T> columns_of(Block& block, int64_t piece, int thread) const {
    Columns<T> result;
    result.count = 0;
    const int64_t begin = piece * block.threads() * columns_per_thread + thread;
    for (int c = 0; c < columns_per_thread; ++c) {
      const int64_t column = begin + int64_t{c} * block.threads();
      if (column >= columns.count) break;
      int64_t at[2];
      columns.find(column, at);
      result.out[c] = at[0];
      result.x[c] = at[1];
      result.sum[c] = 0;
      ++result.count;
    }
    return result;
  }

  /// The terms whose bits are set, from `begin` on.
  SHARDPROOF_DEVICE void add_terms(Columns<T>& to, const uint32_t* words, int n, int64_t begin,
                                   int64_t x_at) const {
    for (int w = 0; w < n; ++w)
      for (uint32_t word = words[w], bit = 0; word != 0; word >>= 1, ++bit) {
        if (!(word & 1)) continue;
        int64_t at[2];
        terms.find(begin + w * warp_threads + bit, at);
        for (int c = 0; c < to.count; ++c) to.sum[c] += entry(x_at + at[1] + to.x[c]);
      }
  }

  SHARDPROOF_DEVICE T entry(int64_t at) const {
    if (is_real(x_element)) return static_cast<T>(load_real<double>(x_element, x, at));
    return static_cast<T>(load_integer(x_element, x, at));
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

template <class T>
void index_add(const Stream& stream, const IndexAdd& op, void* out, const void* const* inputs) {
  run(stream, Zero{static_cast<size_t>(op.count) * sizeof(T)}, out, nullptr);
  const Nest nest = coalesced(op.nest);
  if (nest.count() == 0) return;
  IndexAddKernel<T> kernel;
  kernel.batches = chosen<3>(nest, {0, 1, 2}, [](bool sum, bool ids) { return sum && ids; });
  kernel.terms = chosen<2>(nest, {1, 2}, [](bool sum, bool) { return !sum; });
  kernel.columns = chosen<2>(nest, {0, 2}, [](bool sum, bool ids) { return sum && !ids; });
  constexpr int64_t width = usual_threads * columns_per_thread;
  kernel.pieces = (kernel.columns.count + width - 1) / width;
  kernel.out = static_cast<T*>(out);
  kernel.x = inputs[1];
  kernel.x_element = op.x;
  kernel.ids = {inputs[0], op.ids, op.window, report_to(stream)};
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
  switch (op.sum) {
    case Element::f64:
      return index_add<double>(stream, op, out, inputs);
    case Element::f32:
      return index_add<float>(stream, op, out, inputs);
    case Element::i32:
    case Element::u32:  // both wrap
      return index_add<uint32_t>(stream, op, out, inputs);
    default:
      throw std::logic_error("sums are formed in f64, f32, i32 or u32");
  }
}

}  // namespace shardproof::SHARDPROOF_MACHINE
