#pragma once
// One evaluation: the sizes it is for, the tape, and the values of the function at hand.
#include <map>
#include <optional>
#include <unordered_map>

#include "oracle/oracle.h"
#include "oracle/tape.h"
#include "spec/types/names_hash.h"

namespace shardproof::oracle {

class Table;

/// The extents of a function's values.
class Shapes {
 public:
  Shapes(const ir::Function& function, Table& table)
      : function_(function), table_(table), known_(function.values.size()) {}
  const Extents& of(ir::ValueId value);

 private:
  const ir::Function& function_;
  Table& table_;
  std::vector<std::optional<Extents>> known_;
};

/// Sizes of dims and axes, given or declared.
class Table {
 public:
  Table(const ir::Program& program, const Sizes& sizes);
  int64_t size(const Dim& dim);
  int64_t size(const Name& dim);
  int64_t axis(const Axis& axis) const;
  Extents extents(const std::vector<Split>& dims);
  /// Of a function that outlives the table.
  Shapes& shapes(const ir::Function& function);
  /// Whether the condition holds; `value` gives the scalars in it.
  bool holds(const ir::Arith& condition, const std::vector<Var>& values) const;
  bool holds(const ir::Assumption& assumption, double entry) const {
    return program_.holds(assumption, entry, sizes_);
  }

 private:
  const ir::Program& program_;
  std::map<Name, int64_t> sizes_;
  std::unordered_map<Name, int64_t> of_names_;
  std::unordered_map<std::vector<Name>, int64_t, NamesHash> of_groups_;
  std::unordered_map<const ir::Function*, Shapes> shapes_;
};

/// The table of a program at these sizes: the last one, where readings are kept and it is the same.
std::shared_ptr<Table> table_of(const ir::Program& program, const Sizes& sizes);

struct Run {
  Run(const ir::Program& program, const Sizes& sizes)
      : program(program), sizes(sizes), own(table_of(program, sizes)), table(*own) {}
  const ir::Program& program;
  const Sizes& sizes;
  std::shared_ptr<Table> own;
  Table& table;
  Tape tape;
};

struct Frame {
  const ir::Function& function;
  Shapes& shapes;
  std::vector<Var> values;  ///< by ValueId
};

/// One instruction on its way.
struct Site {
  Run& run;
  Frame& frame;
  const ir::Instr& instr;

  Origin origin() const { return {&frame.function, &instr}; }
  const Var& operand(size_t i) const { return frame.values[instr.operands.at(i)]; }
  Vars operands() const;
  const Type& operand_type(size_t i) const { return frame.function.values[instr.operands[i]].type; }
  const Type& type(size_t i = 0) const { return frame.function.values[instr.results[i]].type; }
  /// The shape that result i is to have.
  const Extents& shape(size_t i = 0) { return frame.shapes.of(instr.results[i]); }
  Extents extents(const std::vector<Split>& dims) { return run.table.extents(dims); }
  int64_t whole(size_t i) const;  ///< operand i, a scalar that is a whole number
  /// The result of the op. `followed`: the gradient of an operand is wanted.
  template <class Back>
  Var record(Tensor value, bool followed, Back pull_back) {
    if (followed) return run.tape.record(origin(), std::move(value), std::move(pull_back));
    return constant(std::move(value));
  }
};

/// Integers are whole and have the range of their dtype: what happens beyond it is not said
/// anywhere.
void check_range(const Tensor& x, Dtype dtype);

/// Runs the instructions of a body or loop body.
void run_block(Run& run, Frame& frame, const ir::Block& block);
/// The parameters, saved ones last.
std::vector<ir::ValueId> all_params(const ir::Function& function);
/// Runs a function on its leaves in order, saved ones last; a trusted plan is what it claims to be.
Vars run_function(Run& run, size_t function, const Vars& arguments);

/// Results and gradients; without `upstream` each result's own gradient is 1.
Differentiated differentiate(const ir::Program& program, size_t function, const Sizes& sizes,
                             const std::vector<Tensor>& inputs, const std::vector<Tensor>* upstream,
                             const std::vector<size_t>& wrt);

}  // namespace shardproof::oracle
