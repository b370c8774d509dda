#include "kernels/cpu/kernels.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/block.h"
#include "kernels/cpu/vector_sums.h"

namespace shardproof::cpu {
namespace {

template <class T>
T neutral(Reduction fn) {
  using Limits = std::numeric_limits<T>;
  if (fn == Reduction::sum) return 0;
  if (fn == Reduction::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

template <class T>
T joined(Reduction fn, T a, T b) {
  if (fn == Reduction::sum) return a + b;
  if (a != a || b != b) return a != a ? a : b;  // a NaN is kept
  return fn == Reduction::max ? std::max(a, b) : std::min(a, b);
}

/// T: double for floats, int64_t for everything else.
template <class T>
class Reducer {
 public:
  Reducer(const Reduce& op, void* out, const void* const* inputs)
      : op_(op),
        out_(out),
        inputs_(inputs),
        offsets_(op.inputs.size()),
        sums_(static_cast<size_t>(std::min(most_sums, op.kept.inner()))) {}

  void run() {
    const int64_t kept = neighbours(op_.kept, 1), reduced = neighbours(op_.reduced, 0);
    const bool longer = op_.kept.inner() >= op_.reduced.inner();
    if (op_.reduced.count() == 1 || kept > reduced || (kept == reduced && longer))
      along_kept();
    else
      along_reduced();
  }

 private:
  static T* entries(Block<double>& block) {
    if constexpr (std::is_same_v<T, double>)
      return block.real;
    else
      return block.integer;
  }

  static constexpr int64_t most_sums = 8 * block_size;

  /// How many inputs are contiguous along the innermost loop, if it is worth a block.
  int64_t neighbours(const Nest& nest, size_t first) const {
    int64_t count = 0;
    for (size_t k = 0; nest.inner() >= 8 && k < op_.inputs.size(); ++k)
      count += nest.inner_stride(first + k) == 1;
    return count;
  }

  static constexpr bool floats = std::is_same_v<T, double>;

  void take(Block<double>& to, size_t k, int64_t first, int64_t stride, int64_t n) {
    if (floats && vectors_ && stride == 1 &&
        vectors_->load(to.real, op_.inputs[k], inputs_[k], first, n))
      return;
    load(to, op_.inputs[k], inputs_[k], first, stride, n);
  }

  /// sum[i] += x[i]
  void add(T* sum, const T* x, int64_t n) const {
    if constexpr (floats)
      if (vectors_) return vectors_->add(sum, x, n);
    for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
  }
  void add_in_lanes(T* lanes, const T* x, int64_t n) const {
    if constexpr (floats)
      if (vectors_) return vectors_->add_in_lanes(lanes, x, n);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
      for (int64_t j = 0; j < 8; ++j) lanes[j] += x[i + j];
    for (; i < n; ++i) lanes[0] += x[i];
  }

  /// The product of the inputs at n entries: input k starts at offsets[k] and moves by its stride.
  const T* product(const std::vector<int64_t>& offsets, const Nest& nest, size_t shift, int64_t n) {
    T* result = entries(product_);
    for (size_t k = 0; k < op_.inputs.size(); ++k) {
      Block<double>& to = k == 0 ? product_ : factor_;
      take(to, k, offsets[k], nest.inner_stride(k + shift), n);
      if (k > 0)
        for (int64_t i = 0; i < n; ++i) result[i] *= entries(factor_)[i];
    }
    return result;
  }

  /// Adjacent results, each with its own accumulator: many, since far rows are fetched slowly.
  void along_kept() {
    const int64_t n = op_.kept.inner();
    for_each_row(op_.kept, [&](const int64_t* at) {
      for (int64_t first = 0; first < n; first += most_sums) {
        const int64_t count = std::min(most_sums, n - first);
        std::fill_n(sums_.data(), count, neutral<T>(op_.fn));
        for_each_row(op_.reduced, [&](const int64_t* inner) {
          for (int64_t j = 0; j < op_.reduced.inner(); ++j) join(at, inner, j, first, count);
        });
        for (int64_t i = 0; i < count; i += block_size) {
          const int64_t some = std::min(block_size, count - i), stride = op_.kept.inner_stride(0);
          std::copy_n(sums_.data() + i, some, entries(sum_));
          store(out_, op_.output, at[0] + (first + i) * stride, stride, sum_, some);
        }
      }
    });
  }

  /// Joins `count` sums with term j of each.
  void join(const int64_t* at, const int64_t* inner, int64_t j, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i += block_size) {
      const int64_t some = std::min(block_size, count - i);
      for (size_t k = 0; k < offsets_.size(); ++k)
        offsets_[k] = at[k + 1] + (first + i) * op_.kept.inner_stride(k + 1) + inner[k] +
                      j * op_.reduced.inner_stride(k);
      const T* x = product(offsets_, op_.kept, 1, some);
      T* sum = sums_.data() + i;
      if (op_.fn == Reduction::sum)
        add(sum, x, some);
      else
        for (int64_t e = 0; e < some; ++e) sum[e] = joined(op_.fn, sum[e], x[e]);
    }
  }

  /// One result after the other, with its terms in blocks.
  void along_reduced() {
    const int64_t n = op_.kept.inner(), m = op_.reduced.inner();
    for_each_row(op_.kept, [&](const int64_t* at) {
      for (int64_t i = 0; i < n; ++i) {
        T total = neutral<T>(op_.fn);
        for_each_row(op_.reduced, [&](const int64_t* inner) {
          for (int64_t first = 0; first < m; first += block_size) {
            const int64_t count = std::min(block_size, m - first);
            for (size_t k = 0; k < offsets_.size(); ++k)
              offsets_[k] = at[k + 1] + i * op_.kept.inner_stride(k + 1) + inner[k] +
                            first * op_.reduced.inner_stride(k);
            total = joined(op_.fn, total, folded(product(offsets_, op_.reduced, 0, count), count));
          }
        });
        entries(sum_)[0] = total;
        store(out_, op_.output, at[0] + i * op_.kept.inner_stride(0), 1, sum_, 1);
      }
    });
  }

  T folded(const T* x, int64_t count) const {
    T lanes[8];
    std::fill_n(lanes, 8, neutral<T>(op_.fn));
    if (op_.fn == Reduction::sum) {
      add_in_lanes(lanes, x, count);
    } else {
      for (int64_t i = 0; i < count; ++i) lanes[i % 8] = joined(op_.fn, lanes[i % 8], x[i]);
    }
    T result = lanes[0];
    for (int j = 1; j < 8; ++j) result = joined(op_.fn, result, lanes[j]);
    return result;
  }

  const Reduce& op_;
  void* out_;
  const void* const* inputs_;
  const VectorSums* const vectors_ = vector_sums(isa());
  Block<double> product_, factor_, sum_;
  std::vector<int64_t> offsets_;  ///< by input
  std::vector<T> sums_;
};

}  // namespace

void run(const Reduce& op, void* out, const void* const* inputs) {
  if (is_real(op.output))
    Reducer<double>(op, out, inputs).run();
  else
    Reducer<int64_t>(op, out, inputs).run();
}

}  // namespace shardproof::cpu
