#pragma once
// The points at which a plan is run to be refuted, in order: where most mistakes show first.
#include <optional>
#include <vector>

#include "spec/check/literals.h"

namespace shardproof {

/// Sizes, numbers, and which of them are drawn far apart.
struct Point {
  denote::Sizes sizes;
  unsigned seed = 0;
  std::optional<unsigned> apart = {};
  const Literals* literals = nullptr;  ///< drawn at these numbers, in round `seed`
  /// Whole numbers of one parameter are taken into this range.
  std::optional<std::pair<size_t, Dim>> within = {};
  /// At a number of the program as a size, which may be too small to be run: that says nothing.
  bool of_number = false;
};

/// More entries of parameters and numbers of a run are not tried: the file fixes a size that is too
/// large, or contracts over many dims.
constexpr double most_entries = 1e6, most_numbers = 5e7;

/// Entries of all parameters.
double entries(const ir::Program& program, const ir::Function& function,
               const denote::Sizes& sizes);

/// Whether running the function differentiates something: as many runs as there are weights.
bool differentiates(const ir::Program& program, size_t function);

/// At many sizes, or, if the plan differentiates, at the smallest of these; then at the program's
/// numbers, then with numbers far apart. Not to be copied: points refer to `literals`.
struct PointsToRefute {
  PointsToRefute(const ir::Program& program, size_t plan);
  PointsToRefute(const PointsToRefute&) = delete;
  PointsToRefute& operator=(const PointsToRefute&) = delete;

  std::vector<Point> all;
  Literals literals;
};

}  // namespace shardproof
