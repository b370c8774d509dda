#pragma once
// A resolved program: names are final, records are flattened to their leaf tensors, library calls
// are inlined. Types of plans' parameters and results are as written; for all other values dims and
// dtype are known, and spec/check infers axes and marks.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/ops.h"
#include "spec/ir/rational.h"

namespace shardproof::ir {

struct DimInfo {
  enum class Kind { plain, alias, group, sized } kind = Kind::plain;
  std::vector<Name> of;  ///< alias: one; group: the factors
  std::optional<Arith>
      size;            ///< sized: `dim F = 4*|M|`, `dim kv = 2`, or the file's own `dim M = 4096`
  std::string shown;   ///< the printed name: local dims of two bodies may share it
  bool local = false;  ///< declared in a body
  SourceRange range;
  std::optional<Name> pads = {};  ///< `dim P pads V`: it is at least V
};

using Dims = std::map<Name, DimInfo, ByName>;

struct AxisInfo {
  std::optional<int64_t> size;  ///< `mesh t=4`
  SourceRange range;
};

/// The source location of an instruction. In a library body `range` is the call in the user's file,
/// and `inner` the location in the library, with the library functions in between ("rms_norm").
struct Place {
  SourceRange range;
  std::optional<SourceRange> inner;
  std::vector<std::string> through;
};

/// An outermost call of a library function, as written; its inlined instructions replace it.
struct LibraryCall {
  struct Argument {
    Name param;
    ValueId value;
    SourceRange range = {};  ///< of an argument that is given by its position
  };
  Name function;
  bool of_library = false;          ///< of the standard library, not of a file with that name
  std::vector<Shape> left;          ///< the pattern's dims for the first arguments
  std::optional<Shape> right;       ///< and for the result
  std::vector<Dim> working;         ///< after `;`
  std::vector<Argument> arguments;  ///< as given, in the order of the parameters
  std::vector<Argument> defaults;   ///< the other parameters, with their declared defaults
  std::vector<ValueId> results;
};

/// A type as written; a record with its name and fields, so that leaves can be assembled.
struct WrittenType {
  Name name;                ///< of the record or layout; empty for a tensor
  Name record;              ///< the record that a layout is of
  bool visible = true;      ///< both names are visible in the function's file
  std::vector<Split> dims;  ///< in front of every field
  Marks marks;
  std::vector<Name> field_names;
  std::vector<WrittenType> fields;
};

struct Instr {
  Op op;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Place place;
  std::vector<SourceRange> operand_ranges;  ///< source range of each operand; may be empty
  std::optional<size_t> library_call = {};  ///< of Function::library_calls: it is part of it
};

struct Requirement {
  Arith condition;
  SourceRange range;
  std::string words = {};  ///< for reports; empty: prints `require` and the condition
};

/// `assume 0 <= y < |V|` in a fn: a condition on every entry of one leaf parameter.
struct Assumption {
  struct Bound {
    std::string op;  ///< entry OP to
    Arith to;        ///< consists of sizes and numbers
  };
  size_t leaf = 0;            ///< of Function::params
  std::vector<Bound> bounds;  ///< one or two
  std::string before, after;  ///< the text around the name: "0 <= ", " < |V|"
  SourceRange range;
  std::string text(const Name& name) const { return before + name + after; }
};

struct Block {
  std::vector<ValueId> params;  ///< loop bodies: the index (i32), then the carries
  std::vector<Instr> instrs;
  std::vector<ValueId> next;  ///< the carries of the next step
  std::vector<ValueId> emit;
  std::vector<Requirement> requirements;
  SourceRange next_range;
};

struct Value {
  Name name;  ///< as the user wrote it ("gate", "w.attn.ln"); empty for an unnamed subexpression
  Type type;
  SourceRange range;
  bool stated = false;  ///< a carry or parameter: type has its axes and marks as written
};

struct Function {
  enum class Kind { fn, plan } kind = Kind::fn;
  Name name;
  std::optional<std::string> trusted;  ///< the reason; no body
  std::optional<size_t> model;         ///< implements f: index of f
  bool implements_grad = false;
  std::vector<size_t> wrt;  ///< leaf parameters of the model
  std::optional<size_t> after;
  std::vector<ValueId> params;  ///< leaves in order; names are paths
  std::vector<std::pair<Name, size_t>>
      param_groups;  ///< the parameters as written: name and its number of leaves
  std::vector<WrittenType> param_types;  ///< one per group
  std::vector<ValueId> saved_params;     ///< after `;`
  std::vector<Type> results;             ///< leaves, as stated
  std::vector<Name> result_names;        ///< one per leaf; a path, or "" where not named
  std::vector<std::pair<Name, size_t>> result_groups;  ///< as written, like param_groups
  std::vector<WrittenType> result_types;               ///< one per group
  std::vector<ValueId> returned;
  std::vector<SourceRange> returned_ranges = {};  ///< one per leaf, of a `return` of several values
  Block body;
  std::vector<Assumption> assumptions;  ///< a fn's own: see Program::assumptions
  std::vector<LibraryCall> library_calls;
  std::vector<Axis> axes;  ///< those its file declares
  std::vector<Name> dims;  ///< likewise
  std::vector<Value> values;
  SourceRange name_range, range, return_range;
  int32_t source = -1;
  bool imported = false;
  bool uses_loops_undecided = false;  ///< pipeline, stages, ring (here, not in callees)
  /// Whether it is checked and reported: a plan, or a fn that implements a gradient.
  bool has_claim() const { return kind == Kind::plan || implements_grad; }
  bool uses_gradients = false;  ///< grad, value_and_grad (here, not in callees)
  /// A plan with `{?_t}` stands for several, in which t is R or I; they are called `f{R_t}`. A call
  /// is resolved as one of the first, and spec/check picks by the types of the arguments.
  Name instance_of = {};               ///< the plan as written; empty: not such a plan
  std::vector<size_t> instances = {};  ///< with this one: R on each such axis first, I on each last
  /// Made for a claim with pads (spec/resolve/pads.h), not written. A plan whose results are padded
  /// has no model itself: `claim` calls it, has its name and is what implements the model.
  bool made_for_pads = false;
  std::optional<size_t> pads_of = {};  ///< of such a model: the one as written
  std::optional<size_t> claim = {}, claims_for = {};
};

/// The name with `f{I_t R_d}` as `f_I_t_R_d`.
Name identifier(const Name& function);

struct Config {
  Name name;
  std::map<Name, std::string> numbers;  ///< dims, axes, consts
  SourceRange range;
};

/// A library function that is the declared gradient of another one, `of`. Its parameters are those
/// of `of` by name; one with the name of the result of `of` is that result; the remaining one is
/// the upstream gradient.
struct LibraryGradient {
  Name of, name;
  std::vector<Name> wrt;            ///< parameters of `of`; one result for each, in this order
  std::vector<Name> params;         ///< of the gradient, in order
  std::string pattern;              ///< its declared pattern: "; M", or empty
  std::vector<Name> defaults = {};  ///< those of `params` with a default
  std::vector<Name> results = {};   ///< the written dtype of each result, may be `float`
};

/// The functions of a program. Its copies share them, until one of them changes its own.
class Functions {
 public:
  Functions() = default;
  Functions(std::initializer_list<Function> all) { *all_ = all; }
  const Function& operator[](size_t i) const { return (*all_)[i]; }
  const Function& at(size_t i) const { return all_->at(i); }
  const Function& back() const { return all_->back(); }
  const Function* data() const { return all_->data(); }
  size_t size() const { return all_->size(); }
  bool empty() const { return all_->empty(); }
  auto begin() const { return all_->cbegin(); }
  auto end() const { return all_->cend(); }
  /// To change them. What `begin` or a function's reference was before is not of this program then.
  std::vector<Function>& own() {
    if (all_.use_count() > 1) all_ = std::make_shared<std::vector<Function>>(*all_);
    return *all_;
  }

 private:
  std::shared_ptr<std::vector<Function>> all_ = std::make_shared<std::vector<Function>>();
};

struct Program {
  /// By the differentiated fn; null in a program that was built in C++.
  std::shared_ptr<const std::map<Name, LibraryGradient>> library_gradients;
  Dims dims;  ///< literal dims ("2") are not in it
  std::map<Axis, AxisInfo> axes;
  std::map<Name, double> consts;
  std::vector<Requirement> requirements;
  std::map<Name, Config> configs;
  Functions functions;  ///< callees before callers

  /// The base dims of a dim: follows aliases and expands groups; `(K D)` for
  /// `dim H = (K D)`.
  std::vector<Name> base(const Dim& dim) const;
  /// Same index and same size, perhaps under different names (S and L; H and (K D)).
  bool same_dim(const Dim& a, const Dim& b) const { return a == b || base(a) == base(b); }
  /// V for a dim whose base is W of `dim W pads V`.
  std::optional<Name> padded(const Dim& dim) const;
  /// |D| over plain dims and axes, as arithmetic.
  Arith size(const Dim& dim) const;
  /// The global size for given base sizes. Throws std::domain_error if it is not a positive integer
  /// or overflows.
  int64_t size(const Dim& dim, const std::map<Name, int64_t>& sizes) const;
  /// The size of a dim that is given, or declared as a whole number; none of a dim whose size must
  /// be worked out.
  std::optional<int64_t> stated_size(const Name& name, const std::map<Name, int64_t>& sizes) const;
  std::vector<Axis> axis_names() const;
  /// Assumptions on a function's parameters, its model's included; callers must guarantee them.
  std::vector<Assumption> assumptions(const Function& function) const;
  /// Whether an entry satisfies all bounds (NaN satisfies none), and the bound's value; `sizes` as
  /// in size().
  bool holds(const Assumption& assumption, double entry,
             const std::map<Name, int64_t>& sizes) const;
  double bound(const Assumption::Bound& bound, const std::map<Name, int64_t>& sizes) const;
  /// Maps a random entry of a leaf to one that satisfies the assumptions. Throws std::domain_error
  /// if there is none at these sizes.
  double satisfying(const Function& function, size_t leaf, double drawn,
                    const std::map<Name, int64_t>& sizes) const;
  /// Conditions on sizes under which the assumptions on each leaf are satisfiable.
  std::vector<Requirement> consistency(const Function& f) const;
};

/// Its sizes, constants and requirements. A copy with the functions of a file, made for each of
/// them, takes time that grows with the square of the file.
Program without_functions(const Program& program);

/// `a OP b`. With NaN every comparison is false, also `!=`.
bool compare(double a, const std::string& op, double b);

/// Whether it contains a scalar of a body.
bool uses_values(const Arith& arith);

/// The names of dims and axes whose sizes it reads.
std::set<Name> sizes_in(const Arith& arith);

/// Evaluates arithmetic; `sizes` has dims and axes. Exact up to the last rounding if 64 bits
/// suffice for each step, else in double. Throws std::domain_error if undefined.
double evaluate(const Arith& arith, const std::map<Name, int64_t>& sizes);
/// The value of numbers alone. Throws algebra::Overflow beyond 64 bits, std::domain_error if
/// undefined.
algebra::Rational exact(const Arith& arith);
std::string to_string(const Arith& arith);

}  // namespace shardproof::ir
