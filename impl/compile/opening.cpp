#include "impl/compile/opening.h"

#include "impl/compile/ops.h"
#include "spec/elaborate/names.h"

namespace shardproof::compile {

void add_extents(const Placement& placement, const ir::Indices& in, const Positions& positions,
                 const Shape& type, std::vector<int64_t>& extents) {
  extents.resize(in.all.size(), 0);
  for (size_t p = 0; p < positions.size(); ++p) {
    const int64_t split = placement.shards(type.dims.at(p));
    const auto leading =
        split == 1 ? std::nullopt : elaborate::leading(placement.program(), in, positions[p]);
    for (IndexId id : positions[p]) {
      int64_t extent = placement.size(in.all.at(id).dim);
      const int64_t shards = leading == id ? split : 1;
      if (extent % shards != 0)
        throw PlanError("the axes of " + to_string(type.dims[p]) + " do not divide " +
                        in.all[id].name);
      extent /= shards;
      if (extents[id] != 0 && extents[id] != extent)
        throw PlanError(in.all[id].name + " has " + std::to_string(extents[id]) +
                        " entries here and " + std::to_string(extent) + " there");
      extents[id] = extent;
    }
  }
}

Opening::Opening(const Site& site, const ir::Pattern& pattern) : site(site), in_(pattern.indices) {
  try {
    for (size_t i = 0; i < in_.left.size(); ++i)
      add_extents(site.placement(), in_, in_.left[i], site.type(i), extents_);
    add_extents(site.placement(), in_, in_.right, site.result_type(), extents_);
  } catch (const PlanError& error) {
    throw PlanError(site.compiler.place() + ": " + error.what());
  }
}

View Opening::operand(size_t i) const { return operand(i, site.ref(i)); }

View Opening::operand(size_t i, const Ref& ref) const {
  return opened(ref, in_.left.at(i), extents_);
}

std::vector<int64_t> Opening::extents(const Ids& ids) const {
  std::vector<int64_t> result;
  result.reserve(ids.size());
  for (IndexId id : ids) result.push_back(extents_.at(id));
  return result;
}

void Opening::define(const View& view) const {
  const Ids order = right();
  const View from{along(view, order, extents(order)), order};
  if (auto result = as_result(from)) return site.define(std::move(result->ref));
  const View copy{site.compiler.create(from.ref.element, from.ref.extents), order};
  site.compiler.move(ir::name_of(site.instr.op), from.ref, copy.ref);
  site.define(as_result(copy)->ref);
}

}  // namespace shardproof::compile
