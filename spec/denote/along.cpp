#include "spec/denote/along.h"

#include <algorithm>

#include "spec/elaborate/names.h"

namespace shardproof::denote {

Ids flat(const Positions& positions) {
  Ids result;
  result.reserve(positions.size());
  for (const ir::Position& position : positions)
    result.insert(result.end(), position.begin(), position.end());
  return result;
}

Along open(const Geometry& geometry, const ir::Indices& indices, const Positions& positions,
           const Shape& type) {
  if (positions.size() != type.dims.size()) throw Mismatch("a pattern of another rank");
  Along result;
  result.ids.reserve(positions.size());
  result.extents.reserve(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto leading = elaborate::leading(geometry.program(), indices, positions[i]);
    const int64_t shards = geometry.shards(type.dims[i]);
    if (!leading && shards != 1) throw Mismatch("axes on a dim without factors");
    for (ir::IndexId id : positions[i]) {
      const int64_t size = geometry.size(indices.all.at(id).dim);
      const int64_t parts = id == leading ? shards : 1;
      if (size % parts != 0)
        throw Mismatch("the axes of " + to_string(type.dims[i]) + " do not divide it");
      result.ids.push_back(id);
      result.extents.push_back(size / parts);
    }
  }
  return result;
}

void IndexExtents::add(const Along& along) {
  add_new(along);
  for (size_t i = 0; i < along.ids.size(); ++i)
    if (const int64_t known = of(along.ids[i]); known != along.extents[i])
      throw Mismatch(indices_.all.at(along.ids[i]).name + " has " + std::to_string(known) +
                     " entries here and " + std::to_string(along.extents[i]) + " there");
}

void IndexExtents::add_new(const Along& along) {
  for (size_t i = 0; i < along.ids.size(); ++i)
    if (!has(along.ids[i])) extents_[along.ids[i]] = along.extents.at(i);
}

bool IndexExtents::has(const Ids& ids) const {
  return std::all_of(ids.begin(), ids.end(), [&](ir::IndexId id) { return has(id); });
}

int64_t IndexExtents::of(ir::IndexId id) const {
  if (!has(id)) throw Mismatch("no operand has " + indices_.all.at(id).name);
  return *extents_[id];
}

Extents IndexExtents::of(const Ids& ids) const {
  Extents result;
  result.reserve(ids.size());
  for (ir::IndexId id : ids) result.push_back(of(id));
  return result;
}

Extents IndexExtents::closed(const Positions& positions) const {
  Extents result;
  result.reserve(positions.size());
  for (const ir::Position& position : positions) {
    int64_t entries = 1;
    for (ir::IndexId id : position) entries *= of(id);
    result.push_back(entries);
  }
  return result;
}

Ids IndexExtents::all_from(Ids first) const {
  for (ir::IndexId id = 0; id < extents_.size(); ++id)
    if (has(id) && std::find(first.begin(), first.end(), id) == first.end()) first.push_back(id);
  return first;
}

Extents strides_along(const Ids& along, const Along& array) {
  const Extents own = row_major(array.extents);
  Extents strides;
  strides.reserve(along.size());
  for (ir::IndexId id : along) {
    const auto place = std::find(array.ids.begin(), array.ids.end(), id) - array.ids.begin();
    const auto i = static_cast<size_t>(place);
    strides.push_back(i < own.size() ? own[i] : 0);
  }
  return strides;
}

Meeting meeting(const IndexExtents& extents, const std::vector<Along>& left,
                const Positions& right) {
  const Ids kept = flat(right), order = extents.all_from(kept);
  Meeting found{extents.of(order), {}, extents.closed(right)};
  found.strides.reserve(left.size() + 1);
  found.strides.push_back(strides_along(order, {kept, extents.of(kept)}));
  for (const Along& each : left) found.strides.push_back(strides_along(order, each));
  return found;
}

size_t vanished(const Positions& left, const Positions& right) {
  size_t i = 0;
  while (i < left.size() && i < right.size() && left[i] == right[i]) ++i;
  if (i == left.size()) throw Mismatch("no dim vanishes");
  return i;
}

}  // namespace shardproof::denote
