#pragma once
// The law of row-wise fused ops (kernels/rowwise.h): a machine computes what a plain evaluation in
// double does, within the error of f32.
#include "kernels/cuda/laws/laws.h"
#include "kernels/fused.h"

namespace shardproof::laws {

/// An op and its operands: `inputs` and `outputs` are places among `arrays`; an output may be an
/// input.
struct RowwiseCase {
  Rowwise op;
  std::vector<Array> arrays;
  std::vector<size_t> inputs, outputs;
};

/// A random program on random rows; the same for the same seed.
RowwiseCase random_rowwise(uint64_t seed);
/// The program that the dice draw.
Rowwise random_rows(Dice& dice);
/// Operands with random entries for an op. An output has the memory of an input now and then, where
/// it may.
RowwiseCase rowwise_case(Rowwise op, Dice& dice);

/// A number in double, and how far off it a machine may be that computes in f32.
struct Bounded {
  double value = 0, off = 0;
};
/// What each output is to be, before it is stored. Comparisons, roundings to integers and the like
/// are of numbers that are exact.
std::vector<std::vector<Bounded>> evaluated(const RowwiseCase& given);

/// The operands' memory is the machine's; the scratch is after the outputs.
using RunRowwise =
    std::function<Fault(const Rowwise& op, void* const* outputs, const void* const* inputs)>;
/// The bytes of all arrays when it has run.
std::vector<std::vector<unsigned char>> rowwise_on(const KernelMachine& machine,
                                                   const RunRowwise& run, const RowwiseCase& given);
/// Empty, or what is not as evaluated, or changed and is no output.
std::string broken_rowwise(const KernelMachine& machine, const RunRowwise& run,
                           const RowwiseCase& given);

}  // namespace shardproof::laws
