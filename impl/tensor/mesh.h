#pragma once
// The mesh at run time: axes with sizes, and where a rank stands in it.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/types/type.h"

namespace shardproof {

/// Axes with their sizes; the first is the most significant in a rank's number. An axis that a
/// program has and the mesh has not is of size 1.
class Mesh {
 public:
  Mesh() = default;
  /// Throws std::invalid_argument for a size below 1, or an axis named twice.
  Mesh(std::vector<std::pair<Axis, int64_t>> axes);
  /// "d=2,t=4"; the empty text is one rank. Throws std::invalid_argument with the place that is
  /// wrong.
  static Mesh parse(const std::string& text);

  const std::vector<std::pair<Axis, int64_t>>& axes() const { return axes_; }
  int64_t ranks() const;
  int64_t size(const Axis& axis) const;                 ///< 1 for an axis that is not in it
  int64_t digit(int64_t rank, const Axis& axis) const;  ///< 0 for an axis that is not in it
  /// How many blocks a dim that is split over these axes has, and which of them `rank` has.
  int64_t blocks(const std::vector<Axis>& axes) const;
  int64_t block(int64_t rank, const std::vector<Axis>& axes) const;
  /// The ranks that differ from `rank` in their digits on `axes` alone, the first axis the most
  /// significant.
  std::vector<int> along(int64_t rank, const std::vector<Axis>& axes) const;
  /// That of every rank, each once.
  std::vector<std::vector<int>> groups(const std::vector<Axis>& axes) const;
  std::string text() const;  ///< "d=2 t=4"

 private:
  int64_t stride(const Axis& axis) const;
  std::vector<std::pair<Axis, int64_t>> axes_;
};

}  // namespace shardproof
