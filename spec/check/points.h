#pragma once
// Small sizes and random inputs: the points at which functions are run, to refute or test them.
#include <optional>
#include <vector>

#include "spec/denote/denote.h"

namespace shardproof {

/// Small sizes, unequal where they can be, that satisfy the file's sizes and requirements;
/// `attempt` varies them. Nullopt: none was found.
std::optional<denote::Sizes> small_sizes(const ir::Program& program, unsigned attempt);

/// mixed: floats of both signs, away from 0, scalars positive. positive: all of them, whole scalars
/// 1. negative: the floats of these with the other sign. signs:
/// scalars as well, and whole numbers of both signs where none indexes a table. ties: small whole
/// floats. tiny: floats near 1e-4. literals: mixed, and near the number of
/// the program that the seed says.
enum class Draw { mixed, positive, signs, ties, tiny, literals, negative };

/// Whether the file's sizes have a value there, and its requirements hold.
bool sizes_hold(const ir::Program& program, const denote::Sizes& sizes);

/// What the whole program asks of drawn numbers, looked up once for many draws.
struct DrawRules {
  explicit DrawRules(const ir::Program& program);
  bool small_integers = false;  ///< some index a table
  bool of_values = false;       ///< `require s > 0` in a body: other signs are outside the claim
};

/// Zeros of a type.
denote::Array<double> zeros(const ir::Program& program, const Type& type,
                            const denote::Sizes& sizes);

/// Inputs of a function, as it assumes them to be.
std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw, const DrawRules& rules);
std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw);

/// Moves entries that are not what the function assumes of its parameters to ones that are; throws
/// std::domain_error where there are none at these sizes.
void satisfy_assumptions(const ir::Program& program, const ir::Function& function,
                         const denote::Sizes& sizes, std::vector<denote::Array<double>>& inputs);

/// The number of ways to draw one function's floats with very different magnitudes.
constexpr unsigned apart_draws = 16;

/// One of 8 parts of the float tensors a thousand times larger and all others as much smaller: over
/// and under what a limit may be, as that of a gradient's norm, which numbers near 1 never reach.
/// From way 8 on all others are 0, and what is added to a divisor is seen.
void draw_apart(const ir::Function& function, unsigned way,
                std::vector<denote::Array<double>>& inputs);

}  // namespace shardproof
