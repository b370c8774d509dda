#pragma once
// The points at which to try to refute a plan, ordered by how likely they show an error.
#include <optional>
#include <vector>

#include "spec/check/cost_of_run.h"
#include "spec/check/literals.h"

namespace shardproof {

/// Sizes, how to draw numbers, and which of them differ in magnitude.
struct Point {
  denote::Sizes sizes;
  unsigned seed = 0;
  std::optional<unsigned> apart = {};
  const Literals* literals = nullptr;  ///< draw at these numbers, in round `seed`
  /// Maps the integers of one parameter into this range.
  std::optional<std::pair<size_t, Dim>> within = {};
  /// Forward-mode gradients take long here: the oracle's, in reverse mode, are used instead.
  bool many_weights = false;
  /// A number of the program is used as a size. It may be too small to run, which proves nothing.
  bool of_number = false;
  double scale = 1;  ///< of the floats
};

/// Limits on the entries of parameters and on the numbers of a run: beyond them, the file fixes a
/// large size or contracts over many dims.
constexpr double most_entries = 1e6, most_numbers = 5e7;

/// Entries of all parameters.
double entries(const ir::Program& program, const ir::Function& function,
               const denote::Sizes& sizes);

/// Whether the function takes gradients numerically, which needs one run per weight.
bool differentiates(const ir::Program& program, size_t function);

/// Estimated seconds of one run of the plan and its model. A gradient in forward mode is one run
/// per 16 weights.
double seconds_of_run(const ir::Program& program, size_t plan, const denote::Sizes& sizes,
                      CostOfRun& cost);

/// Rounds sizes up to multiples of the axes that split them in the plan's parameters and results:
/// at other sizes the plan claims nothing. Nullopt if the file's requirements fail there.
std::optional<denote::Sizes> divided(const ir::Program& program, size_t plan, denote::Sizes sizes);

/// Points at many sizes or, if the plan differentiates, at the smallest ones; then at the program's
/// numbers; then with very different magnitudes. A plan that names the size of an axis runs
/// only at sizes that the axes divide. Not copyable: points refer to `literals`.
struct PointsToRefute {
  PointsToRefute(const ir::Program& program, size_t plan);
  PointsToRefute(const PointsToRefute&) = delete;
  PointsToRefute& operator=(const PointsToRefute&) = delete;

  std::vector<Point> all;
  Literals literals;
};

}  // namespace shardproof
