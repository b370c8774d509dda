#include "impl/compile/views.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "impl/tensor/placement.h"

namespace shardproof::compile {

Ids first_ids(size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), IndexId{0});
  return ids;
}

Ids flat(const Positions& positions) {
  Ids ids;
  for (const ir::Position& position : positions)
    ids.insert(ids.end(), position.begin(), position.end());
  return ids;
}

size_t position_of(const Ids& ids, IndexId id) {
  return static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
}

Ids concatenated(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<int64_t> View::extents(const Ids& some) const {
  std::vector<int64_t> result;
  result.reserve(some.size());
  for (IndexId id : some) result.push_back(ref.extents.at(position_of(ids, id)));
  return result;
}

Ref start_of(const Ref& ref) { return {ref.buffer, ref.element, ref.offset, {}, {}, ref.terms}; }

bool same_view(const Ref& a, const Ref& b) {
  const auto same_term = [](const Ref::Term& x, const Ref::Term& y) {
    return x.loop == y.loop && x.stride == y.stride;
  };
  return a.buffer == b.buffer && a.element == b.element && a.offset == b.offset &&
         a.extents == b.extents && a.strides == b.strides &&
         std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(), same_term);
}

std::vector<int64_t> strides_along(const Ids& ids, const std::vector<int64_t>& extents,
                                   const View& view) {
  std::vector<int64_t> strides(ids.size(), 0);
  for (size_t i = 0; i < view.ids.size(); ++i) {
    const size_t at = position_of(ids, view.ids[i]);
    if (at == ids.size()) continue;
    if (view.ref.extents.at(i) != extents.at(at))
      throw PlanError("an index has " + std::to_string(view.ref.extents[i]) + " entries here and " +
                      std::to_string(extents[at]) + " there");
    strides[at] += view.ref.strides.at(i);
  }
  return strides;
}

Ref along(const View& view, const Ids& ids, const std::vector<int64_t>& extents) {
  Ref ref = start_of(view.ref);
  ref.strides = strides_along(ids, extents, view);
  ref.extents = extents;
  return ref;
}

int64_t extent_of(IndexId id, const std::vector<const View*>& views) {
  for (const View* view : views)
    if (const size_t at = position_of(view->ids, id); at < view->ids.size())
      return view->ref.extents.at(at);
  throw std::logic_error("no view has the index");
}

std::optional<JoinedDims> joined(const std::vector<int64_t>& extents,
                                 const std::vector<int64_t>& strides) {
  JoinedDims result;
  bool begun = false;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1) continue;
    if (!begun)
      result.stride = strides[i];
    else if (strides[i] != result.stride * result.extent)
      return std::nullopt;
    begun = true;
    result.extent *= extents[i];
  }
  return result;
}

View opened(const Ref& ref, const Positions& positions, const std::vector<int64_t>& extents) {
  if (positions.size() != ref.extents.size())
    throw PlanError("a pattern has " + std::to_string(positions.size()) +
                    " positions and its operand " + std::to_string(ref.extents.size()));
  View view{start_of(ref), flat(positions)};
  view.ref.extents.reserve(view.ids.size());
  for (IndexId id : view.ids) view.ref.extents.push_back(extents.at(id));
  view.ref.strides.resize(view.ids.size());
  size_t end = 0;
  for (size_t p = 0; p < positions.size(); ++p) {
    end += positions[p].size();
    int64_t count = 1;
    for (size_t i = end; i-- > end - positions[p].size();) {
      view.ref.strides[i] = ref.strides.at(p) * count;
      count *= view.ref.extents[i];
    }
    if (count != ref.extents.at(p))
      throw PlanError("a position has " + std::to_string(ref.extents[p]) +
                      " entries and its indices " + std::to_string(count));
  }
  return view;
}

std::optional<View> closed(const View& view, const Positions& positions,
                           const std::vector<int64_t>& extents) {
  View result{start_of(view.ref), {}};
  for (size_t p = 0; p < positions.size(); ++p) {
    const auto own = [&](IndexId id) { return has(view.ids, id); };
    if (std::none_of(positions[p].begin(), positions[p].end(), own)) continue;
    std::vector<int64_t> local;
    for (IndexId id : positions[p]) local.push_back(extents.at(id));
    const std::vector<int64_t> strides = strides_along(positions[p], local, view);
    const bool single = strides.size() == 1;  // at most one is longer than 1: its stride stays
    const auto dim = single ? JoinedDims{local[0], strides[0]} : joined(local, strides);
    if (!dim) return std::nullopt;
    result.ids.push_back(p);
    result.ref.extents.push_back(dim->extent);
    result.ref.strides.push_back(dim->stride);
  }
  return result;
}

Nest nest_of(const std::vector<const Ref*>& refs) {
  Nest nest;
  nest.extents = refs.at(0)->extents;
  nest.strides.reserve(refs.size());
  for (const Ref* ref : refs) {
    if (ref->extents != nest.extents) throw std::logic_error("views of different extents");
    nest.strides.push_back(ref->strides);
  }
  return coalesced(std::move(nest));
}

}  // namespace shardproof::compile
