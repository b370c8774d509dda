#pragma once
// A drafted program on thread ranks beside the oracle.
#include "properties/generators/plan_run.h"
#include "properties/programs/random_program.h"

namespace shardproof::programs {

/// Reads and checks a text; no fixes are looked for.
Program load(const std::string& text);

/// A mesh and sizes from the choices that meet the conditions and keep tensors small.
denote::Sizes point(const CheckedProgram& program, const Choices& choices, int attempt);

/// The outcome of a plan's run.
struct Outcome {
  bool ran = false;
  bool bitwise = false, bitwise_f32 = false;  ///< compared bit for bit
  bool written = false;                       ///< compared with its bf16 as well
  bool sharp = false;                         ///< a factor of 1.001 would have been seen in f32
  std::string difference;                     ///< empty: none
};

/// Runs p at a point and compares it with f, in double and in float; the same bits twice, and with
/// overlap.
Outcome try_values(const Program& program, const RandomProgram& drafted, const Choices& choices,
                   int attempt);
/// The same with the gradients of the loss.
Outcome try_gradients(const Program& program, const RandomProgram& drafted, const Choices& choices);

/// The oracle alone: inputs are drawn, and p's values computed from them.
void run_oracle(const Program& program, const Choices& choices);

/// The outcome of running a broken text, although the checker refuses it.
enum class Seen { differs, unfit, equal };
Seen try_unchecked(const Program& program, const Choices& choices, int meshes);

}  // namespace shardproof::programs
