#pragma once
// Every op as a small struct with what the source says and nothing derived from it. Operands and
// results are in Instr. Patterns have axes and marks as written; the rules (spec/rules) check
// them.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/ir/arith.h"
#include "spec/ir/indices.h"
#include "spec/ir/pointwise.h"
#include "spec/types/type.h"

namespace shardproof::ir {

/// A resolved pattern: names are final, `...` is expanded, left sides have the operand's order.
/// `left[i]` belongs to operand i (tensor operands only: not at=, by=, key). In a library body
/// (`inferred`) axes and marks are not written: a left dim has the operand's axes, a right dim
/// those of the left dim with the same name, and the rule infers the result's marks; it refuses
/// only to contract a split dim in `whole` (dims that the function's signature names). `groups` has
/// the factors of a name in a body at a position that the body writes as several, `(X Y)` or the
/// file's `H`; other positions are whole.
struct Pattern {
  std::vector<Shape> left;
  Shape right;
  std::optional<size_t> left_bracket;  ///< position of the bracketed dim in left[bracket_operand]
  size_t bracket_operand = 0;
  std::optional<size_t> right_bracket;  ///< position in right
  bool inferred = false;
  bool left_inferred = false;  ///< `all_reduce("-> M", x)`: the axes and marks of left are x's
  std::vector<Dim> whole;
  std::vector<std::vector<Dim>> groups;
  Indices indices = {};  ///< what the names stand for
};

/// The source of a created tensor's axes (iota, uniform, normal, zeros): the written ones or, in a
/// library body, for each dim a value that has the dim (no_value: whole).
struct Created {
  Shape shape;
  bool inferred = false;
  std::vector<ValueId> axes_from;  ///< one per dim when inferred
};

// --- numbers ---
struct Number {
  std::string text;
  double value;
  Name constant = {};  ///< the const that it comes from; empty for a literal
};                     ///< a literal or const; dtype `number`
struct SizeOf {
  Name name;
  bool axis;
};  ///< |M| or |t|; dtype `number`, integer valued

// --- pointwise: dims matched by name; the order is that of the operand with all dims ---
struct Unary {
  UnaryFn fn;
};
struct Binary {
  BinaryFn fn;
};
struct Where {};  ///< (c, a, b)
struct Cast {
  Dtype to;
  std::optional<Dtype> grad;
};
struct StopGrad {};
struct Save {};
struct Fold {
  std::optional<std::string> tag;
};  ///< (key) with tag, or (key, n)

// --- structure ---
struct Einsum {
  Pattern pattern;
  std::optional<Dtype> to;
};
enum class ReduceFn { sum, max, min };
struct Reduce {
  ReduceFn fn;
  Pattern pattern;
  std::optional<Dtype> to;
};
struct Expand {
  Pattern pattern;
};
struct Rearrange {
  Pattern pattern;
};
struct Read {
  Pattern pattern;
};  ///< (x, at); bracket on the left
struct Write {
  Pattern pattern;
};  ///< (x, y, at); bracket in left[0]; right has x's dims
struct Concat {
  Pattern pattern;
};  ///< (a, b, ...); bracket on the right
struct Index {
  Pattern pattern;
};  ///< (table, ids); bracket in left[0]
struct IndexUnreduced {
  Pattern pattern;
};
struct IndexAdd {
  Pattern pattern;
};  ///< (ids, x); bracket on the right
struct Iota {
  Created created;
  size_t dim;
};  ///< position of the dim whose index it is
enum class RandomFn { uniform, normal };
struct Random {
  RandomFn fn;
  Created created;
};  ///< (key)
struct Zeros {
  Created created;
  Dtype dtype;
};
struct Roll {
  Pattern pattern;
};  ///< (x, by); bracket
struct Rev {
  Pattern pattern;
};  ///< (x): entry i is entry n-1-i; bracket
enum class OrderedFn { cumsum, argsort };
struct Ordered {
  OrderedFn fn;
  Pattern pattern;
  size_t dim;
};  ///< right == left; position of the worked dim
struct Argmax {
  Pattern pattern;
};
struct TopK {
  Pattern pattern;
};  ///< two results: values, indices

// --- communication ---
enum class CollectiveFn {
  all_gather,
  all_reduce,
  psum_scatter,
  all_to_all,
  slice,
  fan_out,
  zero_nonroot,
  zero_pad
};
/// The operand of a collective. For a record there is one instruction per field, in order;
/// `all_reduce("-> Shards", g)` is refused at the last one if no field was reduced.
enum class Applied { to_tensor, to_field, to_last_field };
struct Collective {
  CollectiveFn fn;
  Pattern pattern;
  Applied applied = Applied::to_tensor;
};
struct Ppermute {
  Pattern pattern;
};  ///< (x, by); bracket on both sides

// --- records, types, calls ---
struct Total {
  Marks marks;
};  ///< sum of scalars; a field that is R on a marked axis counts once
struct Ascribe {
  Type type;
  bool library_argument;
};  ///< a stated type: `name: type = e`, or a library call's pattern
struct Entry {
  Dim dim;
};  ///< (t, n): t[n]
struct Call {
  size_t function;
};  ///< index into Program::functions; leaves in order
struct Grad {
  size_t function;
  bool with_value;
  std::vector<size_t> wrt;
};  ///< leaf parameters of the function

// --- loops: the body is a Block with values of the same function ---
struct Block;
using BlockPtr = std::shared_ptr<Block>;
/// Operands: the carries' initial values. Results: the last carries, then emitted values stacked
/// along `dim`.
struct Scan {
  Dim dim;
  bool reverse;
  BlockPtr body;
};
struct Ring {
  Split dim;
  Dim block;
  BlockPtr body;
};  ///< ring b over L/c as W
struct Pipeline {
  Dim dim;
  Axis axis;
  Name schedule;
  std::vector<Arith> arguments;  ///< of the schedule, in the order of its parameters
  /// The open sizes up to which the schedule was run; empty: it is proved for
  /// all.
  std::map<Name, int64_t> run_up_to;
  bool own_chunks;  ///< the argument is the number of chunks
  BlockPtr body;
};
struct Stages {
  std::vector<Dim> dims;
  BlockPtr body;
};

using AnyOp =
    std::variant<Number, SizeOf, Unary, Binary, Where, Cast, StopGrad, Save, Fold, Einsum, Reduce,
                 Expand, Rearrange, Read, Write, Concat, Index, IndexUnreduced, IndexAdd, Iota,
                 Random, Zeros, Roll, Rev, Ordered, Argmax, TopK, Collective, Ppermute, Total,
                 Ascribe, Entry, Call, Grad, Scan, Ring, Pipeline, Stages>;

/// An op: one of the structs above. Its copy, move and destructor are compiled once, in op.cpp;
/// otherwise each file that uses instructions would compile them for all ops.
struct Op : AnyOp {
  using AnyOp::AnyOp;
  Op();
  Op(const Op&);
  Op(Op&&) noexcept;
  Op& operator=(const Op&);
  Op& operator=(Op&&) noexcept;
  ~Op();
};

const char* name_of(const Op& op);  ///< as written: "einsum", "psum_scatter", "+", "exp", "scan"
const Pattern* pattern_of(const Op& op);  ///< null for an op without one
Pattern* pattern_of(Op& op);

}  // namespace shardproof::ir
