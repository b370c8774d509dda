#include <stdexcept>

#include "kernels/cuda/ids.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/wide.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

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

/// Reads entries of x as summands of type T: for one element, or for any element.
template <class T, Element E>
struct ReadOne {
  static constexpr int at_once = 4;  ///< terms to load before the first is added
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

/// Columns of one row that one thread sums: their offsets in the row of the sum and in x.
template <class T>
struct Columns {
  bool mine[columns_per_thread];
  int64_t out[columns_per_thread], x[columns_per_thread];
  T sum[columns_per_thread];
};

/// The terms to add and their destinations.
template <class T, class Read>
struct Summands {
  Loops<2> terms;    ///< ids, x: loops in which the sum has stride 0
  Loops<2> columns;  ///< out, x: loops in which the ids have stride 0
  T* out;
  Read read;

  /// The number of pieces into which blocks of `threads` threads divide the columns.
  int64_t pieces(int threads) const {
    const int64_t width = int64_t{threads} * columns_per_thread;
    return (columns.count + width - 1) / width;
  }
  SHARDPROOF_DEVICE Columns<T> columns_of(Block& block, int64_t piece, int thread) const {
    Columns<T> result;
    SHARDPROOF_UNROLL(columns_per_thread)
    for (int c = 0; c < columns_per_thread; ++c) {
      const int64_t i = (piece * columns_per_thread + c) * block.threads() + thread;
      int64_t at[2] = {0, 0};
      result.mine[c] = i < columns.count;
      if (result.mine[c]) columns.find(i, at);
      result.out[c] = at[0];
      result.x[c] = at[1];
      result.sum[c] = 0;
    }
    return result;
  }

  /// Adds the terms that next() returns, in order, until it returns -1.
  template <class Next>
  SHARDPROOF_DEVICE void add(Columns<T>& to, int64_t x_at, Next next) const {
    constexpr int at_once = Read::at_once;
    for (bool more = true; more;) {
      T entries[at_once][columns_per_thread] = {};
      bool there[at_once];
      SHARDPROOF_UNROLL(at_once)
      for (int t = 0; t < at_once; ++t) {
        const int64_t term = more ? next() : -1;
        there[t] = more = term >= 0;
        if (!more) continue;
        int64_t at[2];
        terms.find(term, at);
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

  SHARDPROOF_DEVICE void fetch(Columns<T>& sums, int64_t row_at) const {
    for (int c = 0; c < columns_per_thread; ++c)
      if (sums.mine[c]) sums.sum[c] = out[row_at + sums.out[c]];
  }
  SHARDPROOF_DEVICE void store(const Columns<T>& sums, int64_t row_at) const {
    SHARDPROOF_UNROLL(columns_per_thread)
    for (int c = 0; c < columns_per_thread; ++c)
      if (sums.mine[c]) out[row_at + sums.out[c]] = sums.sum[c];
  }
};

/// For few terms: one block per term and some columns. The block of an id's first term adds all
/// terms with that id, in order; the others exit.
template <class T, class Read>
struct AddFewKernel {
  Summands<T, Read> summands;
  Loops<3> batches;  ///< out, ids, x: loops in which ids and the sum move
  int64_t pieces;
  Ids ids;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t terms = summands.terms.count, all = batches.count * pieces * terms;
    for (int64_t i = block.index(); i < all; i += block.blocks())
      add(block, i / terms / pieces, i / terms % pieces, i % terms);
  }

  SHARDPROOF_DEVICE void add(Block& block, int64_t batch, int64_t piece, int64_t first) const {
    const Loops<2>& terms = summands.terms;
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
    const int64_t row_at = at[0] + row * ids.window.stride;
    block.each([&](int thread) {
      own[thread] = summands.columns_of(block, piece, thread);
      summands.fetch(own[thread], row_at);
    });
    for (int64_t begin = first; begin < terms.count; begin += block.threads())
      if (block.vote(words, [&](int thread) { return equal(begin + thread, terms.count); }))
        block.each([&](int thread) {
          add_terms(own[thread], words, block.threads() / warp_threads, begin, at[2]);
        });
    block.each_alone([&](int thread) { summands.store(own[thread], row_at); });
  }

  /// Adds the terms whose bits are set, starting at `begin`.
  SHARDPROOF_DEVICE void add_terms(Columns<T>& to, const uint32_t* words, int n, int64_t begin,
                                   int64_t x_at) const {
    int w = 0;
    uint32_t word = words[0];
    summands.add(to, x_at, [&]() -> int64_t {
      while (word == 0 && ++w < n) word = words[w];
      if (word == 0) return -1;
      const int64_t term = begin + w * warp_threads + lowest_bit(word);
      word &= word - 1;
      return term;
    });
  }
};

/// For many terms, sorted by row. Each thread scans `at_once` of them and sums the rows that start
/// there.
template <class T, class Read>
struct AddSortedKernel {
  Summands<T, Read> summands;
  SortedTerms sorted;
  uint32_t count, no_row;
  int64_t pieces, first, row_stride, out_at, x_at;
  static constexpr int threads = 64;
  static constexpr uint32_t at_once = 16;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int64_t all = (count + at_once - 1) / at_once * pieces;
    block.each_alone([&](int thread) {
      for (int64_t i = block.index(); i < all; i += block.blocks()) {
        const Columns<T> none = summands.columns_of(block, i % pieces, thread);
        add_rows(none, static_cast<uint32_t>(i / pieces) * at_once);
      }
    });
  }

  SHARDPROOF_DEVICE void add_rows(const Columns<T>& none, uint32_t begin) const {
    for (uint32_t i = begin; i < begin + at_once && i < count; ++i) {
      const uint32_t row = sorted.rows[i];
      if (row == no_row) return;
      if (i > 0 && sorted.rows[i - 1] == row) continue;
      Columns<T> own = none;
      const int64_t row_at = out_at + row * row_stride;
      summands.fetch(own, row_at);  // of earlier terms, if there were too many for one sort
      uint32_t next = i;
      summands.add(own, x_at, [&]() -> int64_t {
        if (next == count || sorted.rows[next] != row) return -1;
        return first + sorted.terms[next++];
      });
      summands.store(own, row_at);
    }
  }
};

/// The loops of the operands that `keep` selects.
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
void add_few(const Stream& stream, const Summands<T, Read>& summands, const Loops<3>& batches,
             const Ids& ids) {
  const int64_t pieces = summands.pieces(usual_threads);
  const int64_t blocks = batches.count * summands.terms.count * pieces;
  launch<usual_threads>(stream, blocks_for(blocks, 1),
                        AddFewKernel<T, Read>{summands, batches, pieces, ids},
                        usual_threads / warp_threads * sizeof(uint32_t));
}

template <class T, class Read>
void add_sorted(const Stream& stream, const Summands<T, Read>& summands, const Loops<3>& batches,
                const Ids& ids) {
  using Kernel = AddSortedKernel<T, Read>;
  const int64_t terms = summands.terms.count, pieces = summands.pieces(Kernel::threads);
  for (int64_t batch = 0; batch < batches.count; ++batch) {
    int64_t at[3];
    batches.find(batch, at);
    for (int64_t first = 0; first < terms; first += most_sorted) {
      const auto count = static_cast<uint32_t>(std::min<int64_t>(most_sorted, terms - first));
      const TermIds chunk{ids, summands.terms, at[1], first, count};
      const Kernel kernel{summands,
                          sorted_by_row(stream, chunk),
                          count,
                          chunk.no_row(),
                          pieces,
                          first,
                          ids.window.stride,
                          at[0],
                          at[2]};
      const int64_t groups = (count + Kernel::at_once - 1) / Kernel::at_once;
      launch<Kernel::threads>(stream, blocks_for(groups * pieces, 1), kernel);
    }
  }
}

/// From this many terms, sorting is worthwhile; it takes about ten launches per batch.
constexpr int64_t many_terms = 1024, few_batches = 16;

template <class T, class Read>
void index_add(const Stream& stream, const IndexAdd& op, void* out, const void* id_data,
               const Read& read) {
  if (!op.into) run(stream, Zero{static_cast<size_t>(op.count) * sizeof(T)}, out, nullptr);
  const Nest nest = coalesced(op.nest);
  if (nest.count() == 0) return;
  const auto batches = chosen<3>(nest, {0, 1, 2}, [](bool sum, bool ids) { return sum && ids; });
  const Summands<T, Read> summands{
      chosen<2>(nest, {1, 2}, [](bool sum, bool) { return !sum; }),
      chosen<2>(nest, {0, 2}, [](bool sum, bool ids) { return sum && !ids; }), static_cast<T*>(out),
      read};
  const Ids ids{id_data, op.ids, op.window, report_to(stream)};
  const bool sorts = summands.terms.count >= many_terms && batches.count <= few_batches &&
                     op.window.extent < UINT32_MAX && stream.scratch;
  (sorts ? add_sorted<T, Read> : add_few<T, Read>)(stream, summands, batches, ids);
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
                IndexKernel<T>{loops, words_at<T>(out), words_at<T>(inputs[0]), ids});
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
    case Element::bf16:
    case Element::u8:
    case Element::u64:
      break;
  }
  throw std::logic_error("sums are formed in f64, f32, i32 or u32");
}

}  // namespace shardproof::SHARDPROOF_MACHINE
