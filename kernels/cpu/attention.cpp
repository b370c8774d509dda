#include "kernels/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/vector_steps.h"

namespace shardproof::cpu {
namespace {

constexpr int64_t most_rows = 64;

/// Allocates consecutive parts of the workspace.
class Cursor {
 public:
  explicit Cursor(void* memory) : at_(static_cast<std::byte*>(memory)) {}
  template <class T>
  T* take(int64_t count) {
    std::byte* const from = at_;
    at_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(from);
  }
  size_t bytes_from(void* memory) const {
    return static_cast<size_t>(at_ - static_cast<std::byte*>(memory));
  }

 private:
  std::byte* at_;
};

/// The workspace of both passes; the parts for the gradient are null in the forward pass.
struct Workspace {
  /// The key and value vectors of a head, one after the other; null if they are read in place.
  std::byte *k = nullptr, *v = nullptr;
  std::byte *q = nullptr, *g = nullptr;                          ///< the rows, in the op's element
  float *weights = nullptr, *pulled = nullptr;                   ///< [rows, keys]
  uint16_t *narrow_weights = nullptr, *narrow_pulled = nullptr;  ///< if the element is bf16
  float *made = nullptr, *g_k = nullptr, *g_v = nullptr;
  uint8_t* allowed = nullptr;  ///< [keys]
  size_t bytes = 0;

  Workspace(const AttentionShape& op, bool gradient, void* memory) {
    const int64_t rows = std::min(most_rows, op.rows());
    const auto size = static_cast<int64_t>(size_of(op.element));
    const bool narrow = op.element == Element::bf16;
    Cursor cursor(memory);
    if (is_packed(op, op.k)) k = cursor.take<std::byte>(op.keys * op.width * size);
    if (is_packed(op, op.v)) v = cursor.take<std::byte>(op.keys * op.width * size);
    q = cursor.take<std::byte>(rows * op.width * size);
    weights = cursor.take<float>(rows * op.keys);
    if (narrow) narrow_weights = cursor.take<uint16_t>(rows * op.keys);
    made = cursor.take<float>(rows * op.width);
    allowed = cursor.take<uint8_t>(op.keys);
    if (gradient) {
      g = cursor.take<std::byte>(rows * op.width * size);
      pulled = cursor.take<float>(rows * op.keys);
      if (narrow) narrow_pulled = cursor.take<uint16_t>(rows * op.keys);
      g_k = cursor.take<float>(op.keys * op.width);
      g_v = cursor.take<float>(op.keys * op.width);
    }
    bytes = cursor.bytes_from(memory);
  }

  /// As operands of products the numbers have the op's element. What computes them in f32 also
  /// writes them there, if that is bf16.
  uint16_t* weights_as_bf16(int64_t at) const {
    return narrow_weights ? narrow_weights + at : nullptr;
  }
  uint16_t* pulled_as_bf16(int64_t at) const {
    return narrow_pulled ? narrow_pulled + at : nullptr;
  }
  const void* weights_as_operand() const { return operand(weights, narrow_weights); }
  const void* pulled_as_operand() const { return operand(pulled, narrow_pulled); }
  void clear_pulled(int64_t first, int64_t last) const {
    if (narrow_pulled)
      std::fill(narrow_pulled + first, narrow_pulled + last, uint16_t{0});
    else
      std::fill(pulled + first, pulled + last, 0.0f);
  }

 private:
  /// oneDNN's AMX products of dense operands are up to three times as fast; few rows would hardly
  /// use the copy.
  static bool is_packed(const AttentionShape& op, const HeadStrides& strides) {
    constexpr int64_t least_rows = 32;
    return op.element == Element::bf16 && strides.position != op.width && op.rows() >= least_rows;
  }
  static const void* operand(const float* wide, const uint16_t* narrow) {
    return narrow ? static_cast<const void*>(narrow) : wide;
  }
};

struct Stretch {
  int64_t first = 0, last = 0;  ///< [first, last)
  int64_t count() const { return last - first; }
};

/// The vectors of all keys; `apart`: entries from one to the next.
struct Vectors {
  const std::byte* first = nullptr;
  int64_t apart = 0;
};

/// One op in one thread: entries of its batch, a tile of rows at a time.
class Problem {
 public:
  Problem(const AttentionShape& op, const void* const* operands, const Scalar& scale,
          const void* scale_input, const Workspace& in)
      : op_(op),
        in_(in),
        q_(static_cast<const std::byte*>(operands[0])),
        k_(static_cast<const std::byte*>(operands[1])),
        v_(static_cast<const std::byte*>(operands[2])),
        mask_(static_cast<const uint8_t*>(operands[3])),
        scale_(scale.is_input ? *static_cast<const float*>(scale_input) : scale.value) {}

  float scale() const { return scale_; }
  const Vectors& keys() const { return keys_; }
  const Vectors& values() const { return values_; }

  /// Calls each(rows of a tile, the keys that they see) for every tile of a batch entry; `begin`
  /// and `end` before and after them.
  template <class Begin, class Each, class End>
  void for_each(int64_t batch, Begin begin, Each each, End end) {
    index_[0] = batch / (op_.batch[1] * op_.batch[2]);
    index_[1] = batch / op_.batch[2] % op_.batch[1];
    index_[2] = batch % op_.batch[2];
    look_at_mask();
    keys_ = of_head(in_.k, k_, op_.k);
    values_ = of_head(in_.v, v_, op_.v);
    begin();
    for (size_t tile = 0; tile < tiles_.size(); ++tile) {
      const int64_t first = static_cast<int64_t>(tile) * most_rows;
      each(Stretch{first, std::min(first + most_rows, op_.rows())}, tiles_[tile]);
    }
    end();
  }

  int64_t offset(const HeadStrides& strides) const { return along(strides.batch); }
  /// The row's index within one batch entry.
  int64_t of_row(const HeadStrides& strides, int64_t row) const {
    return offset(strides) + row / op_.group * strides.position + row % op_.group * strides.group;
  }
  int64_t stats_of_row(int64_t row) const {
    const int64_t batch = (index_[0] * op_.batch[1] + index_[1]) * op_.batch[2] + index_[2];
    return (batch * op_.rows() + row) * 2;
  }

  /// Copies the rows' vectors of an operand to contiguous memory.
  void gather(std::byte* to, const void* from, const HeadStrides& strides,
              const Stretch& rows) const {
    copy_vectors(to, static_cast<const std::byte*>(from), rows.count(),
                 [&](int64_t i) { return of_row(strides, rows.first + i); });
  }
  void gather_queries(const Stretch& rows) const { gather(in_.q, q_, op_.q, rows); }

  /// The keys that a row sees, counted from the tile's first: those that `mask` has, or all of
  /// them. `none`: it sees no key, so it has the same weight for each, and no gradient.
  struct RowKeys {
    RowSpan span;
    const uint8_t* mask;
    bool none;
  };
  RowKeys keys_of(int64_t row, const Stretch& seen) const {
    const Seen& own = rows_[static_cast<size_t>(row)];
    const Stretch keys = weighed_of(own);
    return {{keys.first - seen.first, keys.last - seen.first, seen.count()},
            own.all ? nullptr : mask_of(row, keys),
            own.keys.count() == 0};
  }

  /// rows x keys: products of row vectors and key vectors.
  void products_of_keys(float* to, const std::byte* rows, const Vectors& vectors,
                        const Stretch& queries, const Stretch& seen) const {
    multiply({queries.count(),
              seen.count(),
              op_.width,
              {op_.width, 1},
              {1, vectors.apart},
              {seen.count(), 1},
              {},
              {Element::f32, op_.element, op_.element}},
             to, rows, from(vectors, seen), false);
  }
  /// weights x key vectors: one vector per row.
  void sums_over_keys(float* to, const void* weights, const Vectors& vectors,
                      const Stretch& queries, const Stretch& seen) const {
    multiply({queries.count(),
              op_.width,
              seen.count(),
              {seen.count(), 1},
              {vectors.apart, 1},
              {op_.width, 1},
              {},
              {Element::f32, op_.element, op_.element}},
             to, weights, from(vectors, seen), false);
  }
  /// Adds weights' x rows: one vector per key.
  void add_to_keys(float* to, const void* weights, const std::byte* rows, const Stretch& queries,
                   const Stretch& seen) const {
    multiply({seen.count(),
              op_.width,
              queries.count(),
              {1, seen.count()},
              {op_.width, 1},
              {op_.width, 1},
              {},
              {Element::f32, op_.element, op_.element}},
             to + seen.first * op_.width, weights, rows, true);
  }

  /// Copies a vector to its position in a result.
  void store(void* to, int64_t at, const float* vector) const {
    if (op_.element == Element::f32)
      std::memcpy(static_cast<float*>(to) + at, vector,
                  static_cast<size_t>(op_.width) * sizeof(float));
    else
      vector_steps(isa())->store_rows_bf16(static_cast<uint16_t*>(to) + at, vector,
                                           {1, 0, op_.width});
  }

 private:
  int64_t along(const int64_t (&strides)[3]) const {
    return index_[0] * strides[0] + index_[1] * strides[1] + index_[2] * strides[2];
  }
  int64_t bytes(int64_t entries) const {
    return entries * static_cast<int64_t>(size_of(op_.element));
  }
  const std::byte* from(const Vectors& vectors, const Stretch& seen) const {
    return vectors.first + bytes(seen.first * vectors.apart);
  }
  /// This head's key vectors of an operand: copied to `packed`, or in place.
  Vectors of_head(std::byte* packed, const std::byte* operand, const HeadStrides& strides) const {
    if (!packed) return {operand + bytes(offset(strides)), strides.position};
    copy_vectors(packed, operand, op_.keys,
                 [&](int64_t key) { return offset(strides) + key * strides.position; });
    return {packed, op_.width};
  }
  /// One after the other; at(i): the first entry of vector i.
  template <class At>
  void copy_vectors(std::byte* to, const std::byte* from, int64_t count, At at) const {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + bytes(i * op_.width), from + bytes(at(i)),
                  static_cast<size_t>(bytes(op_.width)));
  }
  const uint8_t* mask_row(int64_t row) const {
    return mask_ + along(op_.mask.batch) + row / op_.group * op_.mask.query +
           row % op_.group * op_.mask.group;
  }
  /// The mask of these keys, one after the other.
  const uint8_t* mask_of(int64_t row, const Stretch& keys) const {
    const uint8_t* own = mask_row(row) + keys.first * op_.mask.key;
    if (op_.mask.key == 1) return own;
    for (int64_t i = 0; i < keys.count(); ++i) in_.allowed[i] = own[i * op_.mask.key];
    return in_.allowed;
  }

  /// Finds the keys that each row sees, and each tile of rows: all keys if one of its rows sees
  /// none.
  void look_at_mask() {
    const int64_t at = along(op_.mask.batch);
    if (at == mask_at_) return;
    mask_at_ = at;
    rows_.clear(), tiles_.clear();
    const bool by_group = op_.mask_kind != MaskKind::causal && op_.mask.group != 0;
    for (int64_t row = 0; row < op_.rows(); ++row)
      rows_.push_back(by_group || row % op_.group == 0 ? seen_by(row) : rows_.back());
    for (int64_t first = 0; first < op_.rows(); first += most_rows) {
      Stretch seen{op_.keys, 0};
      for (int64_t row = first; row < std::min(first + most_rows, op_.rows()); ++row) {
        const Stretch own = weighed_of(rows_[static_cast<size_t>(row)]);
        seen = {std::min(seen.first, own.first), std::max(seen.last, own.last)};
      }
      tiles_.push_back(in_whole_blocks(seen));
    }
  }
  /// Few distinct counts: the library prepares a product for each, and keeps it.
  Stretch in_whole_blocks(const Stretch& seen) const {
    constexpr int64_t block = 32;
    return {seen.first / block * block,
            std::min((seen.last + block - 1) / block * block, op_.keys)};
  }

  /// From the first to the last key that a row sees; `all`: each of them is seen.
  struct Seen {
    Stretch keys;
    bool all = true;
  };
  Stretch weighed_of(const Seen& row) const {
    return row.keys.count() > 0 ? row.keys : Stretch{0, op_.keys};
  }
  Seen seen_by(int64_t row) const {
    if (op_.mask_kind == MaskKind::causal) return {{0, std::min(op_.keys, row / op_.group + 1)}};
    const uint8_t* own = mask_row(row);
    const int64_t stride = op_.mask.key;
    Stretch seen{0, op_.keys};
    const auto is_seen = [&](int64_t key) { return own[key * stride] != 0; };
    const auto skips = [&](int64_t first) {
      return stride == 1 && seen.count() >= word && none_of_word(own + first);
    };
    while (skips(seen.first)) seen.first += word;
    while (skips(seen.last - word)) seen.last -= word;
    while (seen.count() > 0 && !is_seen(seen.first)) ++seen.first;
    while (seen.count() > 0 && !is_seen(seen.last - 1)) --seen.last;
    bool all = seen.count() > 0;
    if (stride == 1)
      all = all && !std::memchr(own + seen.first, 0, static_cast<size_t>(seen.count()));
    else
      for (int64_t key = seen.first; key < seen.last; ++key) all = all && is_seen(key);
    return {seen, all};
  }
  static constexpr int64_t word = 32;
  static bool none_of_word(const uint8_t* at) {
    uint64_t parts[word / 8];
    std::memcpy(parts, at, sizeof parts);
    return (parts[0] | parts[1] | parts[2] | parts[3]) == 0;
  }

  const AttentionShape& op_;
  const Workspace& in_;
  const std::byte *q_, *k_, *v_;
  Vectors keys_, values_;  ///< of this head
  const uint8_t* mask_;
  const float scale_;
  int64_t index_[3] = {};
  int64_t mask_at_ = -1;
  std::vector<Seen> rows_;
  std::vector<Stretch> tiles_;  ///< the keys that each tile of rows sees
};

int64_t threads_of(const AttentionShape& op, int at_once) {
  return std::max<int64_t>(std::min<int64_t>(at_once, op.batches()), 1);
}
size_t memory_of_thread(const AttentionShape& op, bool gradient) {
  alignas(64) std::byte nowhere;
  return Workspace(op, gradient, &nowhere).bytes;
}

/// Threads share the entries of the batch, which do not depend on each other: each takes the next
/// when it is done, since one core may be slower than another.
template <class Each>
void for_each_batch(const AttentionShape& op, const void* const* operands, const Scalar& scale,
                    const void* scale_input, void* memory, bool gradient, int at_once, Each each) {
  const int64_t threads = threads_of(op, at_once);
  const size_t own = memory_of_thread(op, gradient);
  std::atomic<int64_t> next = 0;
  in_pieces(threads, [&](int64_t thread) {
    const Workspace in(op, gradient,
                       static_cast<std::byte*>(memory) + static_cast<size_t>(thread) * own);
    Problem problem(op, operands, scale, scale_input, in);
    for (int64_t batch = next++; batch < op.batches(); batch = next++) each(problem, in, batch);
  });
}

void attend(const Attention& op, void* const* outputs, Problem& problem, const Workspace& in,
            int64_t batch) {
  const AttentionRows& rows = *attention_rows(isa());
  problem.for_each(
      batch, [] {},
      [&](const Stretch& queries, const Stretch& seen) {
        problem.gather_queries(queries);
        problem.products_of_keys(in.weights, in.q, problem.keys(), queries, seen);
        for (int64_t row = queries.first; row < queries.last; ++row) {
          const int64_t at = (row - queries.first) * seen.count();
          const auto keys = problem.keys_of(row, seen);
          const RowStats row_stats = rows.weigh(in.weights + at, keys.span, problem.scale(),
                                                keys.mask, in.weights_as_bf16(at));
          float* const kept = static_cast<float*>(outputs[1]) + problem.stats_of_row(row);
          kept[0] = row_stats.largest, kept[1] = row_stats.sum;
        }
        problem.sums_over_keys(in.made, in.weights_as_operand(), problem.values(), queries, seen);
        for (int64_t row = queries.first; row < queries.last; ++row) {
          float* const own = in.made + (row - queries.first) * op.width;
          const float sum = static_cast<const float*>(outputs[1])[problem.stats_of_row(row) + 1];
          rows.scale(own, own, op.width, 1.0f / sum);
          problem.store(outputs[0], problem.of_row(op.o, row), own);
        }
      },
      [] {});
}

/// Recomputes the log-sum-exps: those of the forward pass are rounded differently, so a row's
/// probabilities would not sum to 1.
void attend_backwards(const AttentionGrad& op, void* const* outputs, const void* g,
                      Problem& problem, const Workspace& in, int64_t batch) {
  const AttentionRows& rows = *attention_rows(isa());
  problem.for_each(
      batch,
      [&] {
        std::fill(in.g_k, in.g_k + op.keys * op.width, 0.0f);
        std::fill(in.g_v, in.g_v + op.keys * op.width, 0.0f);
      },
      [&](const Stretch& queries, const Stretch& seen) {
        problem.gather_queries(queries);
        problem.gather(in.g, g, op.g, queries);
        problem.products_of_keys(in.weights, in.q, problem.keys(), queries, seen);
        problem.products_of_keys(in.pulled, in.g, problem.values(), queries, seen);
        for (int64_t row = queries.first; row < queries.last; ++row) {
          const int64_t at = (row - queries.first) * seen.count();
          float *const weights = in.weights + at, *const pulled = in.pulled + at;
          const auto keys = problem.keys_of(row, seen);
          const RowStats row_stats =
              rows.weigh(weights, keys.span, problem.scale(), keys.mask, nullptr);
          rows.pull(weights, pulled, keys.span, row_stats.sum, problem.scale(),
                    in.weights_as_bf16(at), in.pulled_as_bf16(at));
          if (keys.none) in.clear_pulled(at, at + seen.count());
        }
        problem.add_to_keys(in.g_v, in.weights_as_operand(), in.g, queries, seen);
        problem.add_to_keys(in.g_k, in.pulled_as_operand(), in.q, queries, seen);
        problem.sums_over_keys(in.made, in.pulled_as_operand(), problem.keys(), queries, seen);
        for (int64_t row = queries.first; row < queries.last; ++row)
          problem.store(outputs[0], problem.of_row(op.g_q, row),
                        in.made + (row - queries.first) * op.width);
      },
      [&] {
        for (int64_t key = 0; key < op.keys; ++key) {
          problem.store(outputs[1], problem.offset(op.g_k) + key * op.g_k.position,
                        in.g_k + key * op.width);
          problem.store(outputs[2], problem.offset(op.g_v) + key * op.g_v.position,
                        in.g_v + key * op.width);
        }
      });
}

}  // namespace

size_t attention_memory(const AttentionShape& op, bool gradient, int at_once) {
  return static_cast<size_t>(threads_of(op, at_once)) * memory_of_thread(op, gradient);
}

void run(const Attention& op, void* const* outputs, const void* const* inputs, int at_once) {
  for_each_batch(op, inputs, op.scale, inputs[4], outputs[2], false, at_once,
                 [&](Problem& problem, const Workspace& in, int64_t batch) {
                   attend(op, outputs, problem, in, batch);
                 });
}

void run(const AttentionGrad& op, void* const* outputs, const void* const* inputs, int at_once) {
  for_each_batch(op, inputs + 1, op.scale, inputs[op.after_forward ? 7 : 5], outputs[3], true,
                 at_once, [&](Problem& problem, const Workspace& in, int64_t batch) {
                   attend_backwards(op, outputs, inputs[0], problem, in, batch);
                 });
}

}  // namespace shardproof::cpu
