#pragma once
// Local arrays by the indices of an op: a position (K D) is opened into its indices, and closed
// again.
#include <optional>
#include <unordered_map>

#include "spec/denote/array.h"
#include "spec/denote/geometry.h"

namespace shardproof::denote {

using Ids = std::vector<ir::IndexId>;
using Positions = std::vector<ir::Position>;

/// The indices of an array in order, with the local extent of each.
struct Along {
  Ids ids;
  Extents extents;
};

/// The indices of all positions, in order.
Ids flat(const Positions& positions);

/// Opens the positions of a type; axes split the first index of a position. Throws Mismatch if the
/// type has other positions or an axis does not divide.
Along open(const Geometry& geometry, const ir::Indices& indices, const Positions& positions,
           const Shape& type);

/// The extents of indices, collected from several arrays.
class IndexExtents {
 public:
  explicit IndexExtents(const ir::Indices& indices)
      : indices_(indices), extents_(indices.all.size()) {}

  void add(const Along& along);      ///< throws Mismatch if an index has two extents
  void add_new(const Along& along);  ///< only extents that are not known yet
  bool has(ir::IndexId id) const { return extents_.at(id).has_value(); }
  bool has(const Ids& ids) const;
  int64_t of(ir::IndexId id) const;  ///< throws Mismatch if no array has it
  Extents of(const Ids& ids) const;
  Extents closed(const Positions& positions) const;  ///< the shape of an array with these positions
  /// `first`, followed by all other indices.
  Ids all_from(Ids first) const;

 private:
  const ir::Indices& indices_;
  std::vector<std::optional<int64_t>> extents_;  ///< by index
};

/// The strides of a row-major array along other indices: 0 for those it lacks.
Extents strides_along(const Ids& along, const Along& array);

/// The loop nest of an op: extents, and the strides of each array. Array 0 is the result; its
/// indices are the outer loops.
struct Meeting {
  Extents extents;
  std::vector<Extents> strides;
  Extents shape;  ///< of the result
};

using Meetings = std::unordered_map<const ir::Op*, Meeting>;

/// The loop nest from arrays along `left` to one along `right`. `extents`: of all indices.
Meeting meeting(const IndexExtents& extents, const std::vector<Along>& left,
                const Positions& right);

/// The first position of the left side that the right side does not have at the same place.
size_t vanished(const Positions& left, const Positions& right);

}  // namespace shardproof::denote
