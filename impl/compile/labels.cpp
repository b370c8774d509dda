#include "impl/compile/labels.h"

#include <algorithm>
#include <stdexcept>

#include "impl/tensor/placement.h"

namespace shardproof::compile {

Labels labels_of(const Shape& shape) {
  Labels labels;
  for (const Split& split : shape.dims) labels.push_back(split.dim);
  return labels;
}

size_t position_of(const Labels& labels, const Dim& label) {
  return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

bool has(const Labels& labels, const Dim& label) {
  return position_of(labels, label) < labels.size();
}

Dim extra_label(const Labels& some, const Labels& others, const Dim& otherwise) {
  for (const Dim& label : some)
    if (!has(others, label)) return label;
  return otherwise;
}

std::vector<int64_t> strides_along(const Labels& labels, const std::vector<int64_t>& extents,
                                   const Labels& own, const Ref& ref) {
  std::vector<int64_t> strides(labels.size(), 0);
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t at = position_of(labels, own[i]);
    if (at == labels.size()) continue;
    if (ref.extents.at(i) != extents.at(at))
      throw PlanError(to_string(own[i]) + " has " + std::to_string(ref.extents[i]) +
                      " entries here and " + std::to_string(extents[at]) + " there");
    strides[at] += ref.strides.at(i);
  }
  return strides;
}

Ref relabelled(const Ref& ref, const Labels& from, const Labels& to,
               const std::vector<int64_t>& extents) {
  Ref view = ref;
  view.strides = strides_along(to, extents, from, ref);
  view.extents = extents;
  return view;
}

int64_t extent_of(const Dim& label, const std::vector<Labels>& labels,
                  const std::vector<Ref>& refs) {
  for (size_t k = 0; k < labels.size(); ++k)
    if (const size_t at = position_of(labels[k], label); at < labels[k].size())
      return refs[k].extents.at(at);
  throw std::logic_error("no operand has the dim " + to_string(label));
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

Nest nest_of(const std::vector<const Ref*>& refs) {
  Nest nest;
  nest.extents = refs.at(0)->extents;
  for (const Ref* ref : refs) {
    if (ref->extents != nest.extents) throw std::logic_error("views of different extents");
    nest.strides.push_back(ref->strides);
  }
  return coalesced(nest);
}

}  // namespace shardproof::compile
