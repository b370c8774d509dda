#pragma once
// Row-wise fused ops in one pass over memory: norms, their gradients, and the pointwise ops around
// them.
#include <vector>

#include "kernels/ops.h"

namespace shardproof {

/// The scope of an operand's entry: `row` means that all entries of a row share it.
enum class Per : uint8_t { entry, row, column, all };

/// none: the step is pointwise. sum, maximum, log_sum_exp: of its real argument over the row.
/// column: the entry's index in its row, an integer; no arguments.
enum class RowFn : uint8_t { none, sum, maximum, log_sum_exp, column };

struct RowStep {
  PointwiseStep step;
  RowFn along = RowFn::none;
};

/// (inputs) -> (outputs; scratch): `rows` rows of `length` entries; operands have no gaps.
/// Registers as in PointwiseStep; reals are f32. An output per row must be constant along a row. An
/// output per column is the sum over rows of a real register, in f32. An output per entry may share
/// memory with an input per entry of the same element.
struct Rowwise {
  struct Input {
    Element element = Element::f32;
    Per per = Per::entry;
  };
  struct Output {
    size_t from = 0;  ///< a register
    Element element = Element::f32;
    Per per = Per::entry;
  };
  int64_t rows = 1, length = 0;
  std::vector<Input> inputs;
  std::vector<RowStep> steps;
  std::vector<Output> outputs;
  static constexpr size_t most_inputs = 24, most_steps = 160, most_outputs = 8;
};

}  // namespace shardproof
