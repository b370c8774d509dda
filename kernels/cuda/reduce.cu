#include <algorithm>

#include "kernels/cuda/entry.h"
#include "kernels/cuda/join.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int most_inputs = 8;

/// How the terms of a result are divided: over `pieces` blocks, and over `lanes` threads in each.
struct Sharing {
  int lanes = 1;              ///< a power of 2, at most the number of threads
  bool results_apart = true;  ///< adjacent threads share a result, not adjacent results
  int64_t pieces = 1;
};

/// The terms of one input with element E and this stride.
template <Element E>
struct OneLine {
  using Sum = double;
  static constexpr int at_once = 4;
  const void* data;
  int64_t count, stride;

  SHARDPROOF_DEVICE double term(int64_t i, const int64_t* at) const {
    return load_real<double>(E, data, at[0] + i * stride);
  }
};

/// Terms that are products of inputs, or entries of one input of any element.
template <class T>
struct Products {
  using Sum = T;
  static constexpr int at_once = 1;
  int64_t count;
  const void* data[most_inputs];
  Element elements[most_inputs];
  int inputs;
  Loops<most_inputs> terms;

  SHARDPROOF_DEVICE T term(int64_t i, const int64_t* at) const {
    int64_t offsets[most_inputs];
    terms.find(i, offsets, inputs);
    T product = load(0, at[0] + offsets[0]);
    for (int k = 1; k < inputs; ++k) product *= load(k, at[k] + offsets[k]);
    return product;
  }
  SHARDPROOF_DEVICE T load(int k, int64_t at) const {
    if constexpr (std::is_same_v<T, double>)
      return load_real<double>(elements[k], data[k], at);
    else
      return load_integer(elements[k], data[k], at);
  }
};

template <class Source, class Join>
struct ReduceKernel {
  using T = typename Source::Sum;
  Source source;
  Loops<most_inputs + 1> kept;  ///< the result, the inputs
  int inputs;
  void* out;
  Element output;
  T* partial;  ///< [piece, result]; null: writes the result
  Sharing sharing;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    const int results = block.threads() / sharing.lanes;
    const int64_t groups = (kept.count + results - 1) / results;
    for (int64_t i = block.index(); i < groups * sharing.pieces; i += block.blocks())
      reduce(block, i % groups * results, results, i / groups);
  }

  SHARDPROOF_DEVICE void reduce(Block& block, int64_t first, int results, int64_t piece) const {
    T* values = block.shared<T>();  // [result, lane]
    block.each([&](int thread) {
      const int lane = sharing.results_apart ? thread % sharing.lanes : thread / results,
                result = sharing.results_apart ? thread / sharing.lanes : thread % results;
      values[result * sharing.lanes + lane] = first + result < kept.count
                                                  ? terms(first + result, lane, piece)
                                                  : Join::template nothing<T>();
    });
    for (int half = sharing.lanes / 2; half > 0; half /= 2)
      block.each([&](int thread) {
        const int lane = thread % sharing.lanes;
        if (lane < half) values[thread] = Join::join(values[thread], values[thread + half]);
      });
    block.each([&](int thread) {
      if (thread < results && first + thread < kept.count)
        write(first + thread, piece, values[thread * sharing.lanes]);
    });
  }

  /// Combines every lanes-th term of the piece, in order.
  SHARDPROOF_DEVICE T terms(int64_t result, int lane, int64_t piece) const {
    constexpr int n = Source::at_once;  // terms to load before the first is combined
    int64_t at[most_inputs + 1];
    kept.find(result, at, inputs + 1);
    const int64_t most = (source.count + sharing.pieces - 1) / sharing.pieces, begin = piece * most,
                  end = begin + most < source.count ? begin + most : source.count;
    T value = Join::template nothing<T>();
    int64_t i = begin + lane;
    for (; i + (n - 1) * sharing.lanes < end; i += n * sharing.lanes) {
      T read[n];
      SHARDPROOF_UNROLL(n)
      for (int j = 0; j < n; ++j) read[j] = source.term(i + j * sharing.lanes, at + 1);
      SHARDPROOF_UNROLL(n)
      for (int j = 0; j < n; ++j) value = Join::join(value, read[j]);
    }
    for (; i < end; i += sharing.lanes) value = Join::join(value, source.term(i, at + 1));
    return value;
  }

  SHARDPROOF_DEVICE void write(int64_t result, int64_t piece, T value) const {
    if (partial) {
      partial[piece * kept.count + result] = value;
      return;
    }
    const int64_t at = kept.first_at(result);
    if constexpr (std::is_same_v<T, double>)
      store_real(output, out, at, value);
    else
      store_integer(output, out, at, value);
  }
};

/// Enough blocks to keep a GPU busy. Depends on the op's sizes only, so the order of a sum is the
/// same on every device.
Sharing sharing_of(const Nest& kept, const Nest& reduced, bool scratch) {
  const int64_t results = kept.count(), terms = reduced.count();
  Sharing result;
  result.results_apart = kept.inner_stride(1) != 1 || reduced.inner_stride(0) == 1;
  const int most = result.results_apart ? usual_threads : 8;
  while (result.lanes < most && result.lanes * 4 <= terms) result.lanes *= 2;
  if (!result.results_apart && results >= 1 << 17) result.lanes = 1;
  const int64_t per_block = usual_threads / result.lanes,
                blocks = (results + per_block - 1) / per_block;
  constexpr int64_t wanted_blocks = 1024, least_terms = 16;
  const int64_t room = static_cast<int64_t>(scratch_bytes / sizeof(double)) / results;
  if (scratch && blocks * 4 <= wanted_blocks)
    result.pieces = std::max<int64_t>(
        1, std::min({wanted_blocks / blocks, terms / (result.lanes * least_terms), room}));
  return result;
}

template <class Join, class Source>
void launch_reduce(const Stream& stream, const Reduce& op, const Source& source, void* out,
                   const Sharing& sharing) {
  using T = typename Source::Sum;
  const ReduceKernel<Source, Join> kernel{
      source,
      loops_of<most_inputs + 1>(op.kept),
      static_cast<int>(op.inputs.size()),
      out,
      op.output,
      sharing.pieces > 1 ? static_cast<T*>(stream.scratch) : nullptr,
      sharing};
  const int64_t results = usual_threads / sharing.lanes,
                groups = (kernel.kept.count + results - 1) / results;
  launch<usual_threads>(stream, blocks_for(groups * sharing.pieces, 1), kernel,
                        usual_threads * sizeof(T));
}

template <class Join>
void reduce_by(const Stream& stream, const Reduce& op, void* out, const void* const* inputs,
               const Sharing& sharing) {
  auto products = [&](auto value) {
    Products<decltype(value)> source;
    source.inputs = static_cast<int>(op.inputs.size());
    source.terms = loops_of<most_inputs>(op.reduced);
    source.count = source.terms.count;
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      source.data[k] = inputs[k];
      source.elements[k] = op.inputs[k];
    }
    launch_reduce<Join>(stream, op, source, out, sharing);
  };
  const bool line = op.inputs.size() == 1 && op.reduced.extents.size() <= 1;
  const int64_t count = op.reduced.count(), stride = op.reduced.inner_stride(0);
  if (!is_real(op.output))
    products(int64_t{});
  else if (line && op.inputs[0] == Element::f32)
    launch_reduce<Join>(stream, op, OneLine<Element::f32>{inputs[0], count, stride}, out, sharing);
  else if (line && op.inputs[0] == Element::bf16)
    launch_reduce<Join>(stream, op, OneLine<Element::bf16>{inputs[0], count, stride}, out, sharing);
  else
    products(double{});
}

void reduce_shared(const Stream& stream, const Reduce& op, void* out, const void* const* inputs,
                   const Sharing& sharing) {
  switch (op.fn) {
    case Reduction::sum:
      return reduce_by<Sum>(stream, op, out, inputs, sharing);
    case Reduction::max:
      return reduce_by<Maximum>(stream, op, out, inputs, sharing);
    case Reduction::min:
      return reduce_by<Minimum>(stream, op, out, inputs, sharing);
  }
}

/// The op that combines the pieces in the scratch.
Reduce joining(const Reduce& op, int64_t pieces) {
  Reduce result = op;
  result.kept.strides = {op.kept.strides[0], {}};
  std::vector<int64_t>& strides = result.kept.strides[1];
  strides.resize(op.kept.extents.size());
  int64_t step = 1;
  for (size_t d = strides.size(); d-- > 0; step *= op.kept.extents[d]) strides[d] = step;
  result.reduced = {{pieces}, {{step}}};
  result.inputs = {is_real(op.output) ? Element::f64 : Element::u64};
  return result;
}

}  // namespace

void run(const Stream& stream, const Reduce& given, void* out, const void* const* inputs) {
  Reduce op = given;
  op.kept = coalesced(given.kept);
  op.reduced = coalesced(given.reduced);
  if (op.inputs.size() > most_inputs)
    throw std::length_error("a product of " + std::to_string(op.inputs.size()) +
                            " inputs: the kernel has at most " + std::to_string(most_inputs));
  if (op.kept.count() == 0) return;
  const Sharing sharing = sharing_of(op.kept, op.reduced, stream.scratch != nullptr);
  reduce_shared(stream, op, out, inputs, sharing);
  if (sharing.pieces == 1) return;
  const Reduce rest = joining(op, sharing.pieces);
  const void* partial = stream.scratch;
  reduce_shared(stream, rest, out, &partial, sharing_of(rest.kept, rest.reduced, false));
}

}  // namespace shardproof::SHARDPROOF_MACHINE
