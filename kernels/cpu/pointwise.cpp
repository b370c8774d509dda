#include "kernels/cpu/kernels.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "kernels/cpu/block.h"
#include "kernels/cpu/look_ups.h"
#include "kernels/cpu/row_code.h"
#include "kernels/cpu/threads.h"
#include "kernels/cpu/vector_steps.h"
#include "kernels/philox.h"

namespace shardproof::cpu {
namespace {

constexpr int64_t none = 0;  ///< undefined for integers

/// Sets by_zero if b is 0.
int64_t floor_divided(int64_t a, int64_t b, bool& by_zero) {
  if (b == 0) return by_zero = true, 0;
  const int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}

/// A step, and the registers of its operands and of its result. `logistic`: it is the last of those
/// of 1 / (1 + exp(-x)), and computes all of them from x.
struct Instruction {
  const PointwiseStep* step;
  std::array<size_t, 3> from;
  size_t to;
  Rounding rounding;
  bool logistic = false;
};

bool is_wide(Element element) { return element == Element::f32 || element == Element::f64; }

/// The steps of a chain on few registers, which stay in the cache: a result's register is free once
/// its last reader has run. Inputs and constants keep theirs. A rounding to bf16 that alone reads a
/// step is part of it, and the store of a bf16 result rounds.
class Instructions {
 public:
  Instructions(const Pointwise& chain, bool has_logistic)
      : chain_(chain), has_logistic_(has_logistic), inputs_(chain.inputs.size()) {
    count_readers();
    registers_ = inputs_;
    for (size_t k = 0; k < inputs_; ++k) {
      of_.push_back(k);
      narrow_nans_.push_back(!is_wide(chain.inputs[k]));
    }
    for (size_t i = 0; i < chain.steps.size(); ++i) add(i);
    if (chain.output == Element::bf16) leave_to_store();
  }

  std::vector<Instruction> constants, all;
  size_t registers() const { return registers_; }
  size_t result() const { return of_.back(); }
  bool end_with_result() const { return !all.empty() && all.back().to == result(); }

 private:
  const PointwiseStep* step_of(size_t value) const {
    return value < inputs_ ? nullptr : &chain_.steps[value - inputs_];
  }
  bool is_kept(size_t value) const {
    return value < inputs_ || step_of(value)->fn == PointwiseFn::constant;
  }

  void count_readers() {
    readers_.resize(inputs_ + chain_.steps.size());
    for (const PointwiseStep& step : chain_.steps)
      for (size_t value : step.arguments) ++readers_[value];
    ++readers_.back();
  }

  /// Whether the step rounds the result of the instruction before, which nothing else reads.
  bool joins(const PointwiseStep& step) const {
    if (step.fn != PointwiseFn::round_bf16 || all.empty() || all.back().rounding != Rounding::none)
      return false;
    const size_t value = step.arguments[0];
    return !is_kept(value) && step_of(value) == all.back().step && readers_[value] == 1 &&
           gives_real(*step_of(value));
  }

  bool is_one(size_t value) const {
    return value >= inputs_ && step_of(value)->fn == PointwiseFn::constant &&
           step_of(value)->value == 1;
  }
  /// Whether this step divides 1 by 1 + exp(-x), and nothing else reads the steps before, which are
  /// the last.
  bool ends_logistic(const PointwiseStep& step) const {
    using enum PointwiseFn;
    if (!has_logistic_ || step.fn != div || !is_one(step.arguments[0]) || all.size() < 3)
      return false;
    size_t value = step.arguments[1];
    int64_t to_come = 1;  // readers
    const Instruction* before = &all.back();
    for (const PointwiseFn fn : {add, exp, neg}) {
      if (is_kept(value) || step_of(value) != before->step || before->step->fn != fn ||
          readers_[value] != to_come)
        return false;
      const std::vector<size_t>& arguments = before->step->arguments;
      const size_t unit = fn == add && is_one(arguments[0]) ? 0 : 1;
      if (fn == add && !is_one(arguments[unit])) return false;
      value = fn == add ? arguments[1 - unit] : arguments[0];
      to_come = 0;
      --before;
    }
    return true;
  }

  void leave_to_store() {
    if (chain_.steps.empty() || chain_.steps.back().fn != PointwiseFn::round_bf16) return;
    if (all.back().rounding != Rounding::none) {
      all.back().rounding = Rounding::none;
    } else {
      of_.back() = all.back().from[0];
      all.pop_back();
    }
  }

  void add(size_t i) {
    const PointwiseStep& step = chain_.steps[i];
    if (joins(step)) {
      all.back().rounding = narrow_nans_.back() ? Rounding::bf16_of_narrow_nans : Rounding::bf16;
      narrow_nans_.push_back(true);
      return of_.push_back(all.back().to);
    }
    // Arithmetic keeps the bits of an operand's NaN, or makes the one with the quiet bit alone.
    narrow_nans_.push_back(step.fn == PointwiseFn::round_bf16 ||
                           std::all_of(step.arguments.begin(), step.arguments.end(),
                                       [&](size_t value) { return narrow_nans_[value]; }));
    Instruction made{&step, {}, 0, Rounding::none};
    for (size_t k = 0; k < step.arguments.size(); ++k) made.from[k] = of_[step.arguments[k]];
    if (ends_logistic(step)) {
      made.logistic = true;
      made.from[0] = all[all.size() - 3].from[0];
      all.resize(all.size() - 3);
    }
    if (step.fn == PointwiseFn::constant) {
      made.to = registers_++;
      constants.push_back(made);
    } else {
      made.to = taken();
      all.push_back(made);
    }
    of_.push_back(made.to);
    for (size_t value : step.arguments)
      if (--readers_[value] == 0 && !is_kept(value)) free_.push_back(of_[value]);
  }

  size_t taken() {
    if (free_.empty()) return registers_++;
    const size_t last = free_.back();
    free_.pop_back();
    return last;
  }

  const Pointwise& chain_;
  const bool has_logistic_;
  size_t inputs_, registers_ = 0;
  std::vector<int64_t> readers_;   ///< by value
  std::vector<bool> narrow_nans_;  ///< by value: its NaNs have no bits below those of a bf16
  std::vector<size_t> of_, free_;  ///< by value: its register; registers that no value needs
};

/// By input: the results that the bits of its entries stand for (look_ups.h); null where an entry
/// is itself. No tables at all if that holds for all inputs.
using Tables = std::vector<const float*>;

/// In blocks of entries along the innermost loop, or of whole rows where these are short.
template <class R>
class Machine {
 public:
  Machine(const Pointwise& chain, void* out, const void* const* inputs, const Tables& tables)
      : chain_(chain),
        nest_(chain.nest),
        out_(out),
        inputs_(inputs),
        tables_(tables),
        instructions_(chain, std::is_same_v<R, float> && vectors_),
        registers_(instructions_.registers()),
        at_(registers_.size()),
        held_(chain.inputs.size()) {
    for (size_t i = 0; i < at_.size(); ++i) at_[i] = &registers_[i];
    for (const Instruction& constant : instructions_.constants)
      run(constant, registers_[constant.to], block_size);
  }

  void run() {
    const int64_t n = nest_.inner();
    const size_t loops = nest_.extents.size();
    if (loops < 2 || 2 * n > block_size)
      return for_each_row(nest_, [&](const int64_t* at) {
        in_blocks(
            at, n, block_size, [&](size_t k) { return nest_.inner_stride(k); },
            [](int64_t count) {
              return Shape{1, count};
            });
      });
    Nest outer = nest_;
    outer.extents.pop_back();
    for (std::vector<int64_t>& strides : outer.strides) strides.pop_back();
    for_each_row(outer, [&](const int64_t* at) {
      in_blocks(
          at, outer.inner(), block_size / std::max<int64_t>(n, 1),
          [&](size_t k) { return outer.inner_stride(k); },
          [n](int64_t count) {
            return Shape{count, n};
          });
    });
  }

 private:
  /// Rows of n entries each.
  struct Shape {
    int64_t rows, n;
    int64_t count() const { return rows * n; }
    bool operator==(const Shape&) const = default;
  };
  /// What an input's register holds.
  struct Held {
    int64_t at = -1;
    Shape shape{0, 0};
    bool operator==(const Held&) const = default;
  };

  /// Splits `extent` into blocks of `most`.
  template <class Stride, class ShapeOf>
  void in_blocks(const int64_t* at, int64_t extent, int64_t most, Stride stride, ShapeOf shape) {
    for (int64_t first = 0; first < extent; first += most)
      block([&](size_t k) { return at[k] + first * stride(k); },
            shape(std::min(most, extent - first)));
  }

  template <class At>
  void block(At at, const Shape& shape) {
    for (size_t k = 0; k < chain_.inputs.size(); ++k) take(k, at(k + 1), shape);
    Block<R>* const target =
        instructions_.end_with_result() ? in_place(chain_.output, out_, at(0), 0, shape) : nullptr;
    for (const Instruction& each : instructions_.all) {
      const bool last = &each == &instructions_.all.back();
      run(each, last && target ? *target : registers_[each.to], shape.count());
    }
    if (!target) give(at(0), shape);
  }

  /// The operand's entries from entry `at` on as a block, if they need no conversion or packing.
  /// Vectors are full: the entries end with one.
  Block<R>* in_place(Element element, const void* operand, int64_t at, size_t k,
                     const Shape& shape) const {
    constexpr Element own = std::is_same_v<R, float> ? Element::f32 : Element::f64;
    constexpr int64_t most_lanes = alignof(Block<R>) / sizeof(R);
    const bool packed =
        nest_.inner_stride(k) == 1 && (shape.rows == 1 || row_stride(k, shape) == shape.n);
    if (element != own || !packed || shape.count() % most_lanes != 0) return nullptr;
    const R* first = static_cast<const R*>(operand) + at;
    if (reinterpret_cast<uintptr_t>(first) % alignof(Block<R>) != 0) return nullptr;
    return reinterpret_cast<Block<R>*>(const_cast<R*>(first));
  }

  /// Between rows of a block.
  int64_t row_stride(size_t operand, const Shape& shape) const {
    return shape.rows == 1 ? 0 : nest_.strides[operand][nest_.extents.size() - 2];
  }

  /// Loads input k from entry `at` on, unless its register holds that.
  void take(size_t k, int64_t at, Shape shape) {
    const int64_t stride = nest_.inner_stride(k + 1), rows = row_stride(k + 1, shape);
    Block<R>& to = registers_[k];
    if (stride == 0 && rows == 0) shape = {1, block_size};  // one entry: for blocks of any shape
    if (held_[k] == Held{at, shape}) return;
    held_[k] = {at, shape};
    if (k < tables_.size() && tables_[k])
      return look_up(to, k, at, stride, {shape.rows, rows, shape.n});
    Block<R>* const there = in_place(chain_.inputs[k], inputs_[k], at, k + 1, shape);
    at_[k] = there ? there : &to;
    if (there) return;
    if (stride == 1 && take_rows(to, k, at, {shape.rows, rows, shape.n})) return;
    for (int64_t r = 0; r < shape.rows; ++r)
      load(to, chain_.inputs[k], inputs_[k], at + r * rows, stride, shape.n, r * shape.n);
  }
  void look_up(Block<R>& to, size_t k, int64_t at, int64_t stride, const PackedRows& rows) {
    const float* const table = tables_[k];
    const uint16_t* const from = static_cast<const uint16_t*>(inputs_[k]) + at;
    if constexpr (std::is_same_v<R, float>)
      if (vectors_ && stride == 1) return vectors_->look_up_rows(to.real, table, from, rows);
    for (int64_t r = 0; r < rows.count; ++r)
      for (int64_t i = 0; i < rows.n; ++i)
        to.real[r * rows.n + i] = table[from[r * rows.stride + i * stride]];
  }
  bool take_rows(Block<R>& to, size_t k, int64_t at, const PackedRows& rows) {
    if constexpr (std::is_same_v<R, float>) {
      if (!vectors_) return false;
      if (chain_.inputs[k] == Element::f32)
        return vectors_->load_rows_f32(to.real, static_cast<const float*>(inputs_[k]) + at, rows),
               true;
      if (chain_.inputs[k] == Element::bf16)
        return vectors_->load_rows_bf16(to.real, static_cast<const uint16_t*>(inputs_[k]) + at,
                                        rows),
               true;
    }
    return false;
  }

  /// Stores the result from entry `at` on.
  void give(int64_t at, const Shape& shape) {
    const int64_t stride = nest_.inner_stride(0), rows = row_stride(0, shape);
    const Block<R>& from = *at_[instructions_.result()];
    if (stride == 1 && give_rows(from, at, {shape.rows, rows, shape.n})) return;
    for (int64_t r = 0; r < shape.rows; ++r)
      store(out_, chain_.output, at + r * rows, stride, from, shape.n, r * shape.n);
  }
  bool give_rows(const Block<R>& from, int64_t at, const PackedRows& rows) {
    if constexpr (std::is_same_v<R, float>) {
      if (!vectors_) return false;
      if (chain_.output == Element::f32)
        return vectors_->store_rows_f32(static_cast<float*>(out_) + at, from.real, rows), true;
      if (chain_.output == Element::bf16)
        return vectors_->store_rows_bf16(static_cast<uint16_t*>(out_) + at, from.real, rows), true;
    }
    return false;
  }

  void run(const Instruction& instruction, Block<R>& to, int64_t n) {
    if (is_vector_step(instruction, to, n)) return;
    step(instruction, to, n);
    if (instruction.rounding != Rounding::none)
      for (int64_t i = 0; i < n; ++i) to.real[i] = rounded_to_bf16(static_cast<float>(to.real[i]));
  }

  bool is_vector_step(const Instruction& instruction, Block<R>& to, int64_t n) {
    if constexpr (std::is_same_v<R, float>) {
      const Block<float>* arguments[3] = {};
      const size_t count = instruction.step->arguments.size();
      if (!vectors_ || count == 0) return false;
      if (instruction.logistic)
        return vectors_->logistic(*at_[instruction.from[0]], to, n, instruction.rounding), true;
      for (size_t i = 0; i < count; ++i) arguments[i] = &arg(instruction, i);
      return vectors_->step(*instruction.step, arguments, to, n, instruction.rounding);
    }
    return false;
  }

  using Reals = Eigen::Map<Eigen::Array<R, Eigen::Dynamic, 1>, Eigen::Aligned64>;
  /// In whole vectors: the last entries are computed as they are in the middle.
  Reals reals(Block<R>& x, int64_t n) {
    constexpr int64_t lanes = alignof(Block<R>) / sizeof(R);
    return Reals(x.real, (n + lanes - 1) / lanes * lanes);
  }
  Block<R>& arg(const Instruction& step, size_t i) { return *at_[step.from[i]]; }

  void step(const Instruction& instruction, Block<R>& to, int64_t n) {
    using enum PointwiseFn;
    const PointwiseStep& step = *instruction.step;
    switch (step.fn) {
      case constant:
        if (step.real)
          std::fill_n(to.real, n, static_cast<R>(step.value));
        else
          std::fill_n(to.integer, n, static_cast<int64_t>(step.value));
        return;
      case where:
        return choose(instruction, to, n);
      case to_real:
        for (int64_t i = 0; i < n; ++i) to.real[i] = static_cast<R>(arg(instruction, 0).integer[i]);
        return;
      case to_integer:
        for (int64_t i = 0; i < n; ++i)
          to.integer[i] = static_cast<int64_t>(arg(instruction, 0).real[i]);
        return;
      case to_boolean:
        for (int64_t i = 0; i < n; ++i)
          to.integer[i] =
              step.real ? arg(instruction, 0).real[i] != 0 : arg(instruction, 0).integer[i] != 0;
        return;
      case round_f32:
        for (int64_t i = 0; i < n; ++i)
          to.real[i] = static_cast<float>(arg(instruction, 0).real[i]);
        return;
      case round_bf16:
        for (int64_t i = 0; i < n; ++i)
          to.real[i] = rounded_to_bf16(static_cast<float>(arg(instruction, 0).real[i]));
        return;
      case fold:
      case fold_tag:
        for (int64_t i = 0; i < n; ++i) {
          const auto key = static_cast<uint64_t>(arg(instruction, 0).integer[i]);
          to.integer[i] = static_cast<int64_t>(
              step.fn == fold_tag
                  ? philox_fold(key, step.tag)
                  : philox_fold(key, static_cast<uint64_t>(arg(instruction, 1).integer[i])));
        }
        return;
#define LIBM(name, ...) std::name(__VA_ARGS__)
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, value, \
                         integer_value, block, exact, algebra, pull)                               \
  case PointwiseFn::id:                                                                            \
    if (step.real) {                                                                               \
      const Reals x = reals(arg(instruction, 0), n);                                               \
      [[maybe_unused]] const auto each = [](R x) -> R { return value; };                           \
      return put(gives(), to, n, block);                                                           \
    }                                                                                              \
    return wholes(instruction, to, n, [](int64_t x) -> int64_t { return (void)x, integer_value; });
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, value,   \
                          integer_value, exact, algebra, pull_a, pull_b)                        \
  case PointwiseFn::id:                                                                         \
    if (step.real)                                                                              \
      return pairs(values(gives(), to), instruction, n, [](R a, R b) { return value; });        \
    return whole_pairs(instruction, to, n, [](int64_t a, int64_t b, bool& by_zero) -> int64_t { \
      return (void)a, (void)b, (void)by_zero, integer_value;                                    \
    });
#include "spec/ir/pointwise.def"
#undef LIBM
    }
  }

  void choose(const Instruction& step, Block<R>& to, int64_t n) {
    const int64_t* c = arg(step, 0).integer;
    const Block<R>&a = arg(step, 1), &b = arg(step, 2);
    for (int64_t i = 0; i < n; ++i) {
      if (step.step->real)
        to.real[i] = c[i] ? a.real[i] : b.real[i];
      else
        to.integer[i] = c[i] ? a.integer[i] : b.integer[i];
    }
  }

  /// The type of the results: bools are integers.
  struct same {};
  struct truth {};
  static R* values(same, Block<R>& to) { return to.real; }
  static int64_t* values(truth, Block<R>& to) { return to.integer; }

  template <class Entries>
  void put(same, Block<R>& to, int64_t n, const Entries& entries) {
    reals(to, n) = entries;
  }
  template <class Entries>
  void put(truth, Block<R>& to, int64_t n, const Entries& entries) {
    for (int64_t i = 0; i < n; ++i) to.integer[i] = entries.coeff(i) != 0;
  }

  template <class To, class Fn>
  void pairs(To* to, const Instruction& step, int64_t n, Fn fn) {
    const R *a = arg(step, 0).real, *b = arg(step, 1).real;
    for (int64_t i = 0; i < n; ++i) to[i] = fn(a[i], b[i]);
  }
  template <class Fn>
  void wholes(const Instruction& step, Block<R>& to, int64_t n, Fn fn) {
    const int64_t* x = arg(step, 0).integer;
    for (int64_t i = 0; i < n; ++i) to.integer[i] = fn(x[i]);
  }
  template <class Fn>
  void whole_pairs(const Instruction& step, Block<R>& to, int64_t n, Fn fn) {
    const int64_t *a = arg(step, 0).integer, *b = arg(step, 1).integer;
    bool by_zero = false;
    for (int64_t i = 0; i < n; ++i) to.integer[i] = fn(a[i], b[i], by_zero);
    if (by_zero) throw std::domain_error("an integer is divided by 0");
  }

  const Pointwise& chain_;
  const Nest& nest_;
  void* out_;
  const void* const* inputs_;
  const Tables& tables_;
  const VectorSteps* const vectors_ = vector_steps(isa());
  const Instructions instructions_;
  std::vector<Block<R>> registers_;
  std::vector<Block<R>*> at_;  ///< by register: itself, or an input's entries in memory
  std::vector<Held> held_;     ///< by input
};

/// The chain along its innermost loop; null where that has no code, or is too short for it.
RowCode code_of(const Pointwise& op) {
  constexpr int64_t fewest = 1 << 13, shortest_row = 64;
  const Nest& nest = op.nest;
  if (op.f64 || op.steps.empty() || nest.count() < fewest || nest.inner() < shortest_row ||
      nest.inner_stride(0) != 1)
    return nullptr;
  RowChain chain{{}, op.steps, {{op.result(), RowChain::To::entries, op.output}}};
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    const int64_t stride = nest.inner_stride(k + 1);
    if (stride != 0 && stride != 1) return nullptr;
    chain.inputs.push_back({op.inputs[k], stride == 0});
  }
  return row_code(chain);
}

void run_code(const Pointwise& op, void* out, const void* const* inputs, RowCode code) {
  const size_t results = op.inputs.size();
  std::vector<void*> operands(results + 1);
  for_each_row(op.nest, [&](const int64_t* at) {
    const auto moved = [](const void* array, int64_t entries, Element element) {
      return static_cast<char*>(const_cast<void*>(array)) +
             entries * static_cast<int64_t>(size_of(element));
    };
    for (size_t k = 0; k < results; ++k) operands[k] = moved(inputs[k], at[k + 1], op.inputs[k]);
    operands[results] = moved(out, at[0], op.output);
    code(operands.data(), op.nest.inner());
  });
}

void run_whole(const Pointwise& op, void* out, const void* const* inputs, const Tables& tables,
               RowCode code) {
  if (code) return run_code(op, out, inputs, code);
  if (op.f64)
    Machine<double>(op, out, inputs, tables).run();
  else
    Machine<float>(op, out, inputs, tables).run();
}

/// Entries of a piece for a thread; whole blocks.
constexpr int64_t piece_entries = 128 * block_size;

/// Threads share the outermost loop: an entry's value does not depend on the others.
void run_in_pieces(const Pointwise& op, void* out, const void* const* inputs, const Tables& tables,
                   RowCode code) {
  const int64_t count = op.nest.count();
  if (threads() == 1 || count < 2 * piece_entries) return run_whole(op, out, inputs, tables, code);
  const int64_t outer = op.nest.extents[0], each = count / outer;
  int64_t lines = std::max<int64_t>(piece_entries / each, 1);
  if (op.nest.extents.size() == 1) lines = piece_entries;
  in_pieces((outer + lines - 1) / lines, [&](int64_t piece) {
    Pointwise some = op;
    const int64_t first = piece * lines;
    some.nest.extents[0] = std::min(lines, outer - first);
    const auto moved = [&](size_t operand, Element element) {
      return first * op.nest.strides[operand][0] * static_cast<int64_t>(size_of(element));
    };
    std::vector<const void*> from(op.inputs.size());
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<const char*>(inputs[i]) + moved(i + 1, op.inputs[i]);
    run_whole(some, static_cast<char*>(out) + moved(0, op.output), from.data(), tables, code);
  });
}

void run_looked_up(const LookUps& op, const Tables& tables, void* out, const void* const* inputs) {
  std::vector<const void*> from;
  for (const LookedUp& each : op.inputs) from.push_back(inputs[each.from]);
  run_in_pieces(op.rest, out, from.data(), tables, nullptr);
}

/// Nothing if there are too many tables.
std::optional<Tables> tables_of(const LookUps& op) {
  Tables tables(op.inputs.size());
  for (size_t k = 0; k < tables.size(); ++k)
    if (!op.inputs[k].part.steps.empty() && !(tables[k] = kept_table(op.inputs[k].part)))
      return std::nullopt;
  return tables;
}

}  // namespace

void run_steps(const Pointwise& op, void* out, const void* const* inputs) {
  run_in_pieces(op, out, inputs, {}, nullptr);
}

void run(const Pointwise& op, void* out, const void* const* inputs) {
  constexpr int64_t least_looked_up = 2 * table_size;
  const RowCode code = code_of(op);
  if (!code && op.nest.count() >= least_looked_up)
    if (const std::optional<LookUps> found = look_ups(op))
      if (const std::optional<Tables> tables = tables_of(*found))
        return run_looked_up(*found, *tables, out, inputs);
  run_in_pieces(op, out, inputs, {}, code);
}

}  // namespace shardproof::cpu
