#include "spec/denote/geometry.h"

#include "spec/elaborate/names.h"
#include "spec/types/layout.h"

namespace shardproof::denote {

int64_t Sizes::devices() const {
  int64_t count = 1;
  for (const auto& [name, size] : mesh) count *= size;
  return count;
}

int64_t Sizes::axis(const Axis& name) const {
  for (const auto& [axis, size] : mesh)
    if (axis == name) return size;
  return 1;
}

Geometry::Geometry(const ir::Program& program, const Sizes& sizes)
    : program_(program), sizes_(sizes), devices_(sizes.devices()) {
  strides_.assign(sizes_.mesh.size(), 1);
  for (size_t i = strides_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * sizes_.mesh[i].second;
}

Geometry::Line Geometry::line(const Axis& name) const {
  for (size_t i = 0; i < strides_.size(); ++i)
    if (sizes_.mesh[i].first == name) return {sizes_.mesh[i].second, strides_[i]};
  return {};
}

int64_t Geometry::size(const Name& dim) const {
  const auto found = of_names_.find(dim);
  return found != of_names_.end() ? found->second.size : known(Dim{{dim}}).size;
}

int64_t Geometry::size(const Dim& dim) const { return known(dim).size; }

Geometry::Known& Geometry::known(const Dim& dim) const {
  if (dim.factors.size() == 1) {
    const auto found = of_names_.find(dim.factors[0]);
    return found != of_names_.end() ? found->second : of_names_[dim.factors[0]] = computed(dim);
  }
  const auto found = of_groups_.find(dim.factors);
  return found != of_groups_.end() ? found->second : of_groups_[dim.factors] = computed(dim);
}

/// What sizes are worked out from.
const std::map<Name, int64_t>& Geometry::numbers() const {
  if (!numbers_.empty()) return numbers_;
  numbers_ = sizes_.dims;
  for (const auto& [name, unused] : program_.axes) numbers_.emplace(name, 1);
  for (const auto& [name, size] : sizes_.mesh) numbers_[name] = size;
  return numbers_;
}

Geometry::Known Geometry::computed(const Dim& dim) const {
  try {
    if (dim.factors.size() == 1)
      if (const auto stated = program_.stated_size(dim.factors[0], sizes_.dims);
          stated && *stated >= 1)
        return {*stated};
    return {program_.size(dim, numbers())};
  } catch (const std::domain_error& error) {
    throw Mismatch(error.what());
  }
}

int64_t Geometry::shards(const Split& split) const {
  int64_t count = 1;
  for (const Axis& name : split.axes) count *= axis(name);
  return count;
}

int64_t Geometry::local_size(const Split& split) const {
  Known& dim = known(split.dim);
  if (split.axes.empty()) return dim.size;
  const int64_t count = shards(split);
  if (count == 1) return dim.size;
  if (dim.leading == 0) dim.leading = leading_size(split.dim);
  if (dim.leading % count != 0)
    throw Mismatch("the axes of " + to_string(split) + " do not divide it");
  return dim.size / count;
}

int64_t Geometry::leading_size(const Dim& dim) const {
  const std::vector<Name> base = program_.base(dim);
  return base.empty() ? 1 : size(base[elaborate::leading(program_, base)]);
}

int64_t Geometry::block(const Split& split, int64_t device) const {
  if (split.axes.empty()) return 0;
  if (split.axes.size() == 1) return digit(device, split.axes[0]);
  std::vector<int64_t> digits, radices;
  for (const Axis& name : split.axes) {
    const Line line = this->line(name);
    digits.push_back(line.digit(device));
    radices.push_back(line.size);
  }
  const int count = static_cast<int>(digits.size());
  return layout::mixed_radix<int64_t>(digits.data(), radices.data(), count, 0);
}

int64_t Geometry::offset(const Split& split, int64_t device) const {
  return block(split, device) * local_size(split);
}

std::vector<int64_t> Geometry::global_shape(const Shape& shape) const {
  std::vector<int64_t> result;
  result.reserve(shape.dims.size());
  for (const Split& split : shape.dims) result.push_back(size(split.dim));
  return result;
}

std::vector<int64_t> Geometry::local_shape(const Shape& shape) const {
  std::vector<int64_t> result;
  result.reserve(shape.dims.size());
  for (const Split& split : shape.dims) result.push_back(local_size(split));
  return result;
}

std::vector<int64_t> Geometry::global_indices(const Shape& shape, int64_t device) const {
  return global_indices(shape, local_shape(shape), device);
}

std::vector<int64_t> Geometry::global_indices(const Shape& shape, const std::vector<int64_t>& sizes,
                                              int64_t device) const {
  size_t entries = 1;
  for (int64_t each : sizes) entries *= static_cast<size_t>(each);
  std::vector<int64_t> indices(entries);
  // Expands the indices dim by dim, from the last to the first.
  size_t made = entries == 0 ? 0 : 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Split& split = shape.dims[d];
    const int64_t whole = split.axes.empty() ? sizes[d] : size(split.dim);
    const int64_t first = block(split, device) * sizes[d];
    const auto local = static_cast<size_t>(sizes[d]);
    for (size_t p = made; p-- > 0;) {
      const int64_t start = indices[p] * whole + first;
      for (size_t i = 0; i < local; ++i) indices[p * local + i] = start + static_cast<int64_t>(i);
    }
    made *= local;
  }
  return indices;
}

}  // namespace shardproof::denote
