#pragma once
// The mesh at run time: axes with sizes, and a rank's coordinates.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/types/type.h"

namespace shardproof {

/// Axes with their sizes; the first one is the most significant in a rank's number. An axis of a
/// program that the mesh lacks has size 1.
class Mesh {
 public:
  Mesh() = default;
  /// Throws std::invalid_argument if a size is below 1 or an axis occurs twice.
  Mesh(std::vector<std::pair<Axis, int64_t>> axes);
  /// Parses "d=2,t=4"; empty text is one rank. Throws std::invalid_argument with the position of
  /// the error.
  static Mesh parse(const std::string& text);

  const std::vector<std::pair<Axis, int64_t>>& axes() const { return axes_; }
  int64_t ranks() const;
  int64_t size(const Axis& axis) const;                 ///< 1 for an axis that the mesh lacks
  int64_t digit(int64_t rank, const Axis& axis) const;  ///< 0 for an axis that the mesh lacks
  /// The number of blocks of a dim that is split over these axes.
  int64_t blocks(const std::vector<Axis>& axes) const;
  int64_t block(int64_t rank, const std::vector<Axis>& axes) const;
  /// The ranks that differ from `rank` only in their coordinates on `axes`; the first axis is the
  /// most significant.
  std::vector<int> along(int64_t rank, const std::vector<Axis>& axes) const;
  /// The groups along `axes`, each once.
  std::vector<std::vector<int>> groups(const std::vector<Axis>& axes) const;
  std::string text() const;  ///< "d=2 t=4"

 private:
  int64_t stride(const Axis& axis) const;
  std::vector<std::pair<Axis, int64_t>> axes_;
};

}  // namespace shardproof
