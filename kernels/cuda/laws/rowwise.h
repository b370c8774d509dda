#pragma once
// The law for row-wise fused ops (kernels/rowwise.h): a machine computes the same as a plain
// evaluation in double, within the error of f32.
#include "kernels/cuda/laws/laws.h"
#include "kernels/fused.h"

namespace shardproof::laws {

/// An op and its operands. `inputs` and `outputs` are indices into `arrays`; an output may be an
/// input.
struct RowwiseCase {
  Rowwise op;
  std::vector<Array> arrays;
  std::vector<size_t> inputs, outputs;
};

/// A random program on random rows. Equal seeds give equal cases.
RowwiseCase random_rowwise(uint64_t seed);
/// Draws a program.
Rowwise random_rows(Dice& dice);
/// Draws operands for an op. Sometimes an output shares the memory of an input, if
/// allowed.
RowwiseCase rowwise_case(Rowwise op, Dice& dice);

/// Rows of training steps, every output in the memory of an input.
std::vector<RowwiseCase> rows_in_place();

/// A double and the error bound for a machine that computes in f32.
struct Bounded {
  double value = 0, off = 0;
};
/// The expected outputs before they are stored. Comparisons, roundings to integers and the like
/// have exact arguments.
std::vector<std::vector<Bounded>> evaluated(const RowwiseCase& given);

/// Runs a case. The operands are in the machine's memory; the scratch follows the outputs.
using RunRowwise =
    std::function<Fault(const Rowwise& op, void* const* outputs, const void* const* inputs)>;
/// The bytes of all arrays after the run.
std::vector<std::vector<unsigned char>> rowwise_on(const KernelMachine& machine,
                                                   const RunRowwise& run, const RowwiseCase& given);
/// Returns what differs from the evaluation, or what changed without being an output; else empty.
std::string broken_rowwise(const KernelMachine& machine, const RunRowwise& run,
                           const RowwiseCase& given);

}  // namespace shardproof::laws
