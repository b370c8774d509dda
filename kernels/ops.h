#pragma once
// Device ops as data: each op is a small struct for arrays of one shape. Its operands
// are one output and inputs, in the order given here. kernels/<device>/ computes
// them.
#include <array>
#include <optional>
#include <string>
#include <variant>

#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof {

// --- moving entries ---

/// A part of `count` entries of a dim of `extent`, at an offset that is data: the op's last input,
/// of `element`. It moves operand `operand` (0: the output) by `stride` per entry.
struct Moving {
  size_t operand = 1;
  Element element = Element::i32;
  int64_t count = 1, extent = 0, stride = 0;
};

/// (x): out = x over the nest (operand 0: out, 1: x), entries of 1, 2, 4 or 8 bytes.
struct Copy {
  Nest nest;
  size_t bytes = 4;
  std::optional<Moving> moving = {};
};

/// (): `bytes` zero bytes, which are 0, 0.0 and false.
struct Zero {
  size_t bytes = 0;
};

/// (x, by): entry i of loop `dim` is entry (i - by) mod n of x; `by` has element `by`. The nest is
/// not coalesced.
struct Roll {
  Nest nest;
  size_t dim = 0, bytes = 4;
  Element by = Element::i32;
};

/// (x): entry i of loop `dim` is entry n-1-i of x. The nest is not coalesced.
struct Reverse {
  Nest nest;
  size_t dim = 0, bytes = 4;
};

/// A copy of x from entry `first` that traverses loop `dim` of x backwards.
struct Backwards {
  Nest nest;
  int64_t first = 0;
};
inline Backwards backwards(const Reverse& op) {
  Backwards copy{op.nest};
  int64_t& stride = copy.nest.strides[1][op.dim];
  copy.first = (op.nest.extents.at(op.dim) - 1) * stride;
  stride = -stride;
  return copy;
}

// --- tensors made from nothing or from a key ---

/// (): out = first + the index of loop `dim`; row-major over the extents.
struct Iota {
  std::vector<int64_t> extents;
  size_t dim = 0;
  int64_t first = 0;
  Element element = Element::i32;
};

enum class RandomFn : uint8_t { uniform, normal };

/// (key): out = a function of the key and the global index, so it is the same on every mesh. The
/// index is `first` + nest (operand 0: out, 1: the index). See kernels/philox.h.
struct Random {
  Nest nest;
  RandomFn fn = RandomFn::uniform;
  int64_t first = 0;
  Element element = Element::f32;
};

// --- indices that are data ---

/// This rank's part of an indexed dim. `partial`: other ranks hold the rest.
struct IndexWindow {
  int64_t first = 0, extent = 0;
  int64_t stride = 0;  ///< of the dim, in the table or in the sum
  bool partial = false;
};

/// (table, ids): out = table[.., ids, ..] over the nest (operand 0: out, 1: table, 2: ids, i32 or
/// u32); 0 for another rank's entries. An id out of range is a fault.
struct Index {
  Nest nest;
  IndexWindow window;
  Element element = Element::f32, ids = Element::i32;
};

/// (ids, x): out = `count` zeros, then out[.., ids, ..] += x over the nest (operand 0: out, 1: ids,
/// 2: x), in loop order. `into`: adds to the entries that out has, without the zeros. A float sum
/// is f64 or f32.
struct IndexAdd {
  Nest nest;
  IndexWindow window;
  int64_t count = 0;
  Element sum = Element::f32, ids = Element::i32, x = Element::f32;
  bool into = false;
};

// --- ops along one whole dim that depend on the order of its entries ---

/// cumsum: running sum. argsort: i32 positions, ascending. largest: the k largest entries,
/// descending. largest_at: their i32 positions. Ties: the lowest index first.
enum class OrderedFn : uint8_t { cumsum, argsort, largest, largest_at };

/// (x): one line per index of `lines` (operand 0: out, 1: x), with separate strides and extents
/// along the line.
struct Ordered {
  OrderedFn fn = OrderedFn::cumsum;
  Nest lines;
  int64_t entries = 0;  ///< of x's lines
  int64_t x_stride = 0, to_stride = 0;
  int64_t k = 0;
  Element element = Element::f32;  ///< of x
};

// --- arithmetic ---

/// The functions of spec/ir/pointwise.def, and those that the plan compiler adds.
enum class PointwiseFn : uint8_t {
  constant,
#define SHARDPROOF_UNARY(id, ...) id,
#define SHARDPROOF_BINARY(id, ...) id,
#include "spec/ir/pointwise.def"
  where,       ///< (c, a, b)
  to_real,     ///< from an integer
  to_integer,  ///< from a real, truncated
  to_boolean,  ///< x != 0
  round_f32,   ///< to the nearest f32
  round_bf16,  ///< to the nearest bf16
  fold,        ///< (key, n): the key of philox_fold
  fold_tag,    ///< (key): the key for the step's tag
};

/// One op on registers. Inputs are registers 0 .. n-1; step i writes register n + i. `real`: its
/// arguments are floats (where: a and b); else integers.
struct PointwiseStep {
  PointwiseFn fn;
  bool real = true;
  std::vector<size_t> arguments;
  double value = 0;  ///< constant
  std::string tag;   ///< fold_tag
};

/// Whether the step writes a float.
inline bool gives_real(const PointwiseStep& step) {
  [[maybe_unused]] constexpr bool truth = false;
  const bool same = step.real;
  switch (step.fn) {
    case PointwiseFn::constant:
    case PointwiseFn::where:
      return step.real;
    case PointwiseFn::to_real:
    case PointwiseFn::round_f32:
    case PointwiseFn::round_bf16:
      return true;
    case PointwiseFn::to_integer:
    case PointwiseFn::to_boolean:
    case PointwiseFn::fold:
    case PointwiseFn::fold_tag:
      return false;
#define SHARDPROOF_UNARY(id, text, takes, gives, ...) \
  case PointwiseFn::id:                               \
    return gives;
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, ...) \
  case PointwiseFn::id:                                       \
    return gives;
#include "spec/ir/pointwise.def"
  }
  return same;
}

/// (inputs): fused pointwise ops in one pass over the nest (operand 0: out, then the inputs).
/// Division of an integer by 0 is a fault.
struct Pointwise {
  std::vector<Element> inputs;
  std::vector<PointwiseStep> steps;
  Element output = Element::f32;
  bool f64 = false;  ///< compute floats in double; else in float
  Nest nest;

  /// The register of the result: the last step's, or that of the only input.
  size_t result() const { return inputs.size() + steps.size() - 1; }
};

/// (inputs): out[kept] = the reduction over `reduced` of the product of the inputs. Sums are
/// rounded once, at the end. The maximum of no entries is -infinity, or the least integer.
struct Reduce {
  Reduction fn = Reduction::sum;
  Nest kept;     ///< operand 0: the result, then the inputs
  Nest reduced;  ///< operand k: input k
  std::vector<Element> inputs;
  Element output = Element::f32;
};

/// A matrix in memory: entry (i, j) is at i * row + j * column. One of the strides is 1, or the
/// extent of that dim is 1.
struct MatrixStrides {
  int64_t row = 0, column = 0;
};

/// (a, b): c[i, j] = sum over p of a[i, p] b[p, j] for each batch entry. Sums in f32; in f64 if c
/// is f64.
struct Matmul {
  int64_t m = 1, n = 1, k = 1;
  MatrixStrides a, b, c;
  Nest batch;  ///< operand 0: c, 1: a, 2: b
  std::array<Element, 3> elements{Element::f32, Element::f32, Element::f32};  ///< c, a, b
};

/// Whether a GPU library supports products of these elements without conversion.
inline bool gpu_multiplies(Element c, Element a, Element b) {
  if (a == Element::bf16 && b == a) return c == a || c == Element::f32;
  return a == b && b == c && (c == Element::f32 || c == Element::f64);
}

using KernelOp = std::variant<Copy, Zero, Roll, Reverse, Iota, Random, Index, IndexAdd, Ordered,
                              Pointwise, Reduce, Matmul>;

/// The op's number of inputs.
inline size_t input_count(const KernelOp& op) {
  struct Count {
    size_t operator()(const Copy& copy) const { return copy.moving ? 2 : 1; }
    size_t operator()(const Zero&) const { return 0; }
    size_t operator()(const Roll&) const { return 2; }
    size_t operator()(const Reverse&) const { return 1; }
    size_t operator()(const Iota&) const { return 0; }
    size_t operator()(const Random&) const { return 1; }
    size_t operator()(const Index&) const { return 2; }
    size_t operator()(const IndexAdd&) const { return 2; }
    size_t operator()(const Ordered&) const { return 1; }
    size_t operator()(const Pointwise& chain) const { return chain.inputs.size(); }
    size_t operator()(const Reduce& reduce) const { return reduce.inputs.size(); }
    size_t operator()(const Matmul&) const { return 2; }
  };
  return std::visit(Count{}, op);
}

}  // namespace shardproof
