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

/// Calls visit(index, local extent) for all indices.
template <class Visit>
void AlongIndices::open(const Positions& positions, const Shape& type, Visit visit) const {
  if (positions.size() != type.dims.size()) throw Mismatch("a pattern of another rank");
  for (size_t i = 0; i < positions.size(); ++i) {
    const Split& split = type.dims[i];
    const int64_t shards = geometry_.shards(split);
    const auto leading = shards == 1
                             ? std::nullopt
                             : elaborate::leading(geometry_.program(), indices_, positions[i]);
    if (!leading && shards != 1) throw Mismatch("axes on a dim without factors");
    for (ir::IndexId id : positions[i]) {
      const int64_t size = geometry_.size(indices_.all.at(id).dim);
      const int64_t parts = id == leading ? shards : 1;
      if (size % parts != 0)
        throw Mismatch("the axes of " + to_string(split) + " do not divide it");
      visit(id, size / parts);
    }
  }
}

void AlongIndices::add(const Positions& positions, const Shape& type) {
  open(positions, type, [&](ir::IndexId id, int64_t extent) {
    if (!has(id)) extents_[id] = extent;
    if (extents_[id] != extent)
      throw Mismatch(indices_.all[id].name + " has " + std::to_string(extents_[id]) +
                     " entries here and " + std::to_string(extent) + " there");
  });
  add_strides(positions);
}

void AlongIndices::add_result(const Positions& positions, const Shape& type) {
  const bool known = std::all_of(positions.begin(), positions.end(), [&](const ir::Position& each) {
    return std::all_of(each.begin(), each.end(), [&](ir::IndexId id) { return has(id); });
  });
  if (!known)
    open(positions, type, [&](ir::IndexId id, int64_t extent) {
      if (!has(id)) extents_[id] = extent;
    });
  add_strides(positions);
}

void AlongIndices::add_strides(const Positions& positions) {
  const size_t own = strides_.size();
  strides_.resize(own + extents_.size());
  int64_t stride = 1;
  for (auto position = positions.rbegin(); position != positions.rend(); ++position)
    for (auto id = position->rbegin(); id != position->rend(); ++id) {
      strides_[own + *id] = stride;
      stride *= extents_[*id];
    }
  entries_.push_back(stride);
}

int64_t AlongIndices::extent(ir::IndexId id) const {
  if (!has(id)) throw Mismatch("no operand has " + indices_.all.at(id).name);
  return extents_[id];
}

Extents AlongIndices::closed(const Positions& positions) const {
  Extents result;
  result.reserve(positions.size());
  for (const ir::Position& position : positions) {
    int64_t entries = 1;
    for (ir::IndexId id : position) entries *= extent(id);
    result.push_back(entries);
  }
  return result;
}

Ids AlongIndices::all_from(Ids first) const {
  for (ir::IndexId id = 0; id < extents_.size(); ++id)
    if (has(id) && std::find(first.begin(), first.end(), id) == first.end()) first.push_back(id);
  return first;
}

Loops AlongIndices::loops(const Ids& order, int64_t devices) const {
  Loops result{entries_.size(), {}, {}};
  result.extents.reserve(order.size() + 1);
  result.strides.reserve((order.size() + 1) * result.arrays);
  if (devices > 0) {
    result.extents.push_back(devices);
    result.strides.assign(entries_.begin(), entries_.end());
  }
  for (ir::IndexId id : order) {
    result.extents.push_back(extent(id));
    for (size_t array = 0; array < result.arrays; ++array)
      result.strides.push_back(strides_[array * extents_.size() + id]);
  }
  return result;
}

size_t vanished(const Positions& left, const Positions& right) {
  size_t i = 0;
  while (i < left.size() && i < right.size() && left[i] == right[i]) ++i;
  if (i == left.size()) throw Mismatch("no dim vanishes");
  return i;
}

}  // namespace shardproof::denote
