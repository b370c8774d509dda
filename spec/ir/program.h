#pragma once
// A resolved program: names are final, records are flattened to their leaf tensors, library calls
// are instantiated. Types of plans' parameters and results are as written; of all other values dims
// and dtype are known, axes and marks are what spec/check computes.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/ir/ops.h"

namespace shardproof::ir {

struct DimInfo {
  enum class Kind { plain, alias, group, sized } kind = Kind::plain;
  std::vector<Name> of;  ///< alias: one; group: the factors
  std::optional<Arith>
      size;            ///< sized: `dim F = 4*|M|`, `dim kv = 2`, or the file's own `dim M = 4096`
  std::string shown;   ///< the name to print: local dims of two bodies may share it
  bool local = false;  ///< declared in a body
  SourceRange range;
};

struct AxisInfo {
  std::optional<int64_t> size;  ///< `mesh t=4`
  SourceRange range;
};

/// The place an instruction stands for. In a library body `range` is the call in the user's file,
/// and `inner` the place in the library with the library functions on the way ("rms_norm").
struct Place {
  SourceRange range;
  std::optional<SourceRange> inner;
  std::vector<std::string> through;
};

/// An outermost call of a library function, as the user wrote it; its instructions stand for it.
struct LibraryCall {
  struct Argument {
    Name param;
    ValueId value;
  };
  Name function;
  bool of_library = false;          ///< of the standard library, not of a file of that name
  std::vector<Shape> left;          ///< what the pattern says of the first arguments
  std::optional<Shape> right;       ///< and of the result
  std::vector<Dim> working;         ///< after `;`
  std::vector<Argument> arguments;  ///< those given, in the order of the parameters
  std::vector<Argument> defaults;   ///< the other parameters, with what the declaration says
  std::vector<ValueId> results;
};

/// A type as it is written: of a record its name and fields, so that one can be made of leaves.
struct WrittenType {
  Name name;                ///< of the record or layout; empty for a tensor
  Name record;              ///< the record that a layout is of
  bool visible = true;      ///< both names can be used in the function's file
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
  std::vector<SourceRange> operand_ranges;  ///< where each operand is written; may be empty
  std::optional<size_t> library_call = {};  ///< of Function::library_calls: it is part of it
};

struct Requirement {
  Arith condition;
  SourceRange range;
  std::string words = {};  ///< for the report; empty: `require` and the condition
};

/// `assume 0 <= y < |V|` in a fn: it holds of every entry of one leaf parameter.
struct Assumption {
  struct Bound {
    std::string op;  ///< entry OP to
    Arith to;        ///< of sizes and numbers alone
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
  /// It is checked and reported: a plan, or a fn that says whose gradient it is.
  bool has_claim() const { return kind == Kind::plan || implements_grad; }
  bool uses_gradients = false;  ///< grad, value_and_grad (here, not in callees)
};

struct Config {
  Name name;
  std::map<Name, std::string> numbers;  ///< dims, axes, consts
  SourceRange range;
};

/// A fn of the library that is the gradient of another one, as declared: its parameters are those
/// of `of` by name, one called as the result of `of` stands for that result, and the one that is
/// left is the upstream gradient.
struct LibraryGradient {
  Name of, name;
  std::vector<Name> wrt;            ///< parameters of `of`; one result for each, in this order
  std::vector<Name> params;         ///< of the gradient, in order
  std::string pattern;              ///< its declared pattern: "; M", or empty
  std::vector<Name> defaults = {};  ///< those of `params` that need not be given
  std::vector<Name> results = {};   ///< the word of each result's dtype, `float` among them
};

struct Program {
  std::map<Name, LibraryGradient> library_gradients;  ///< by the fn that is differentiated
  std::map<Name, DimInfo> dims;                       ///< literal dims ("2") are not in it
  std::map<Axis, AxisInfo> axes;
  std::map<Name, double> consts;
  std::vector<Requirement> requirements;
  std::map<Name, Config> configs;
  std::vector<Function> functions;  ///< callees before callers

  /// The base dims a dim stands for: aliases followed, groups expanded; `(K D)` for `dim H = (K
  /// D)`.
  std::vector<Name> base(const Dim& dim) const;
  /// The same index and the same size (S and L; H and (K D)), though maybe another name.
  bool same_dim(const Dim& a, const Dim& b) const { return base(a) == base(b); }
  /// |D| over plain dims and axes, as arithmetic.
  Arith size(const Dim& dim) const;
  /// Global size for given base sizes; throws std::domain_error where it is not a positive whole
  /// number or overflows.
  int64_t size(const Dim& dim, const std::map<Name, int64_t>& sizes) const;
  std::vector<Axis> axis_names() const;
  /// What a function may assume of its parameters, and its callers owe: its own, and its model's.
  std::vector<Assumption> assumptions(const Function& function) const;
  /// Whether all bounds hold of an entry (of NaN none does), and the bound as a number; `sizes` as
  /// for size.
  bool holds(const Assumption& assumption, double entry,
             const std::map<Name, int64_t>& sizes) const;
  double bound(const Assumption::Bound& bound, const std::map<Name, int64_t>& sizes) const;
  /// An entry of a leaf that is what is assumed of it, made of one that was drawn at random; throws
  /// std::domain_error where there is none at these sizes.
  double satisfying(const Function& function, size_t leaf, double drawn,
                    const std::map<Name, int64_t>& sizes) const;
  /// Sizes at which an entry may be: conditions that what is assumed of one leaf can hold together.
  std::vector<Requirement> consistency(const Function& f) const;
};

/// `a OP b` of a comparison; with NaN none holds, `!=` either.
bool compare(double a, const std::string& op, double b);

/// Whether it has a scalar of a body in it.
bool uses_values(const Arith& arith);

/// Value of arithmetic; `sizes` has dims and axes. Division is exact (rational); throws
/// std::domain_error when undefined.
double evaluate(const Arith& arith, const std::map<Name, int64_t>& sizes);
std::string to_string(const Arith& arith);

}  // namespace shardproof::ir
