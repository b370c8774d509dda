#pragma once
// Local arrays by the indices of an op: a position (K D) is opened into its indices.
#include <unordered_map>

#include "spec/denote/array.h"
#include "spec/denote/geometry.h"

namespace shardproof::denote {

using Ids = std::vector<ir::IndexId>;
using Positions = std::vector<ir::Position>;

/// The indices of all positions, in order.
Ids flat(const Positions& positions);

/// How the arrays of an op run along its indices: local extents and strides.
class AlongIndices {
 public:
  AlongIndices(const Geometry& geometry, const ir::Indices& indices)
      : geometry_(geometry), indices_(indices), extents_(indices.all.size()) {}

  /// Opens the positions of one more array; axes split the first index of a position. Throws
  /// Mismatch if the type has other positions, an axis does not divide, or an index has two
  /// extents.
  void add(const Positions& positions, const Shape& type);
  /// The same for the result; `type` gives only the extents that no other array has.
  void add_result(const Positions& positions, const Shape& type);

  bool has(ir::IndexId id) const { return extents_.at(id) != 0; }
  int64_t extent(ir::IndexId id) const;              ///< throws Mismatch if no array has it
  Extents closed(const Positions& positions) const;  ///< the shape of an array with these positions
  /// `first`, followed by all other indices.
  Ids all_from(Ids first) const;
  /// Loops over these indices; if `devices` is given, inside a loop over the devices.
  Loops loops(const Ids& order, int64_t devices = 0) const;

 private:
  template <class Visit>
  void open(const Positions& positions, const Shape& type, Visit visit) const;
  void add_strides(const Positions& positions);

  const Geometry& geometry_;
  const ir::Indices& indices_;
  Extents extents_;  ///< by index; 0: no array has it yet
  Extents strides_;  ///< by array, then by index
  Extents entries_;  ///< by array
};

/// The loop nest of an op, and the shape of its result.
struct Nest {
  Loops loops;
  Extents shape;
};

using Nests = std::unordered_map<const ir::Op*, Nest>;

/// Requires that the loops stay inside the operands, which are their first arrays.
template <class S>
void need_reach(const Loops& loops, const std::vector<Held<S>>& x) {
  for (size_t i = 0; i < x.size(); ++i)
    if (loops.reach(i) > static_cast<int64_t>(x[i].value.all().size()))
      throw std::logic_error("an operand of another size than its loop nest");
}

/// The first position of the left side that the right side does not have at the same place.
size_t vanished(const Positions& left, const Positions& right);

}  // namespace shardproof::denote
