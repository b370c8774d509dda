#pragma once
// Small sizes and random inputs at which functions are run, to refute or to test them.
#include <array>
#include <optional>
#include <vector>

#include "spec/denote/denote.h"

namespace shardproof {

/// Small sizes, unequal if possible, that satisfy the file's sizes and requirements, and `also`.
/// `attempt` varies them. Nullopt: none found.
std::optional<denote::Sizes> small_sizes(const ir::Program& program, unsigned attempt,
                                         const std::vector<ir::Requirement>& also = {});

/// The kind of random inputs. mixed: floats of both signs away from 0, positive scalars. positive:
/// all positive, integer scalars 1. negative: floats as in positive, with the other sign. signs:
/// scalars of both signs too, and integers of both signs if none is a table index. ties: small
/// integral floats. tiny: floats near 1e-4. literals: mixed, and near the program's number that
/// `seed` selects.
enum class Draw { mixed, positive, signs, ties, tiny, literals, negative };

/// Whether the file's sizes are defined there, and its requirements and `also` hold.
bool sizes_hold(const ir::Program& program, const denote::Sizes& sizes,
                const std::vector<ir::Requirement>& also = {});

/// The program's requirements on drawn numbers; computed once for many draws.
struct DrawRules {
  explicit DrawRules(const ir::Program& program);
  /// The same, for inputs of this function.
  DrawRules of(const ir::Program& program, const ir::Function& function) const;
  bool small_integers = false;  ///< some integers index a table
  bool of_values = false;       ///< a body has `require s > 0`: other signs are outside the claim
  std::vector<bool> ids = {};   ///< the parameters that index a table
};

/// Zeros of a type.
denote::Array<double> zeros(const ir::Program& program, const Type& type,
                            const denote::Sizes& sizes);

/// Random inputs that satisfy the function's assumptions. `rules`: of this function.
std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw, const DrawRules& rules);
std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw);

/// Moves entries that violate the function's assumptions to ones that satisfy them. Throws
/// std::domain_error if none exist at these sizes.
void satisfy_assumptions(const ir::Program& program, const ir::Function& function,
                         const denote::Sizes& sizes, std::vector<denote::Array<double>>& inputs);

/// A `require` of a value may hold for large or small numbers alone: what to multiply floats by.
inline constexpr std::array scales_of_required = {4.0, 1.0, 0.03, 128.0};
void scale_floats(const ir::Function& function, double scale,
                  std::vector<denote::Array<double>>& inputs);

/// The number of ways to draw a function's floats with very different magnitudes.
constexpr unsigned apart_draws = 16;

/// Makes one of 8 groups of the float tensors 1000 times larger and all others 1000 times smaller.
/// This reaches both sides of limits, such as a gradient norm's, that numbers near 1 do not reach.
/// From way 8 on, all others are 0, which shows terms that are added to a divisor.
void draw_apart(const ir::Function& function, unsigned way,
                std::vector<denote::Array<double>>& inputs);

}  // namespace shardproof
