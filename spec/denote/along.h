#pragma once
// Local arrays along the indices of an op: positions opened, and closed again.
#include <map>

#include "spec/denote/array.h"
#include "spec/denote/geometry.h"

namespace shardproof::denote {

using Ids = std::vector<ir::IndexId>;
using Positions = std::vector<ir::Position>;

/// The indices of an array in order, and how many entries of each a device has.
struct Along {
  Ids ids;
  Extents extents;
};

/// The indices of positions in order.
Ids flat(const Positions& positions);

/// The positions of a type opened: axes split the leading index of a position. Throws Mismatch
/// where the type has other positions, or the axes do not divide.
Along open(const Geometry& geometry, const ir::Indices& indices, const Positions& positions,
           const Shape& type);

/// The extents of indices, gathered from several arrays.
class IndexExtents {
 public:
  explicit IndexExtents(const ir::Indices& indices) : indices_(indices) {}

  void add(const Along& along);      ///< throws Mismatch where an index has two extents
  void add_new(const Along& along);  ///< of those that are not known yet
  bool has(ir::IndexId id) const { return extents_.count(id) > 0; }
  bool has(const Ids& ids) const;
  int64_t of(ir::IndexId id) const;  ///< throws Mismatch where no array has it
  Extents of(const Ids& ids) const;
  Extents closed(const Positions& positions) const;  ///< the shape of an array
  /// These and then all others.
  Ids all_from(Ids first) const;

 private:
  const ir::Indices& indices_;
  std::map<ir::IndexId, int64_t> extents_;
};

/// The strides of a row-major array along other indices: 0 for those it lacks.
Extents strides_along(const Ids& along, const Along& array);

/// How entries meet: what is walked along, and each array's strides on the way. The first array is
/// the result, whose indices vary slowest.
struct Meeting {
  Extents extents;
  std::vector<Extents> strides;
  Extents shape;  ///< of the result
};

/// Of arrays along `left` that make one along `right`. `extents`: of all indices of both sides.
Meeting meeting(const IndexExtents& extents, const std::vector<Along>& left,
                const Positions& right);

/// The first position that the right side has not in the same place.
size_t vanished(const Positions& left, const Positions& right);

}  // namespace shardproof::denote
