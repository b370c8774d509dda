#include "impl/tensor/placement.h"

#include "spec/elaborate/names.h"

namespace shardproof {

Placement::Placement(const ir::Program& program, const Mesh& mesh, const DimSizes& dims,
                     int64_t rank)
    : program_(&program), rank_(rank) {
  auto sizes = std::make_shared<Sizes>(Sizes{mesh, dims, {}});
  for (const auto& [name, info] : program.axes) {
    sizes->numbers[name] = mesh.size(name);
    if (info.size && *info.size != mesh.size(name))
      throw PlanError("the program says " + name + "=" + std::to_string(*info.size) +
                      ", the mesh " + std::to_string(mesh.size(name)));
  }
  for (const auto& [name, info] : program.dims)
    if (const auto size = program.stated_size(name, dims); size >= 1)
      sizes->known.emplace(name, *size);
  for (const auto& [axis, size] : mesh.axes())
    if (!program.axes.contains(axis)) throw PlanError("the program has no mesh axis " + axis);
  sizes_ = std::move(sizes);
}

Placement Placement::in(const ir::Program& program) const {
  Placement other = *this;
  other.program_ = &program;
  return other;
}

Placement Placement::on(int64_t rank) const {
  Placement other = *this;
  other.rank_ = rank;
  return other;
}

int64_t Placement::size(const Name& dim) const {
  const auto known = sizes_->known.find(dim);
  return known != sizes_->known.end() ? known->second : worked_out(Dim{{dim}});
}

const int64_t* Placement::known(const Dim& dim) const {
  if (dim.factors.size() != 1) return nullptr;
  const auto found = sizes_->known.find(dim.factors[0]);
  return found != sizes_->known.end() ? &found->second : nullptr;
}

int64_t Placement::size(const Dim& dim) const {
  const int64_t* const known = this->known(dim);
  return known ? *known : worked_out(dim);
}

int64_t Placement::worked_out(const Dim& dim) const {
  try {
    return program_->size(dim, sizes_->numbers);
  } catch (const std::domain_error& error) {
    throw PlanError("size of " + to_string(dim) + ": " + error.what());
  }
}

int64_t Placement::shards(const Split& split) const { return mesh().blocks(split.axes); }

int64_t Placement::outer(const Dim& dim, int64_t whole) const {
  const std::vector<Name> base = program_->base(dim);
  return base.size() < 2 ? whole : size(base[elaborate::leading(*program_, base)]);
}

int64_t Placement::extent(const Split& split) const {
  const int64_t* const known = this->known(split.dim);
  const int64_t whole = known ? *known : worked_out(split.dim), count = shards(split);
  if (count == 1) return whole;
  const int64_t outer = known ? whole : this->outer(split.dim, whole);
  if (outer % count != 0)
    throw PlanError(to_string(split) + ": " + std::to_string(outer) + " does not divide into " +
                    std::to_string(count) + " parts");
  return whole / count;
}

int64_t Placement::block(int64_t of, const std::vector<Axis>& axes) const {
  return mesh().block(of, axes);
}

int64_t Placement::first(const Split& split) const {
  return block(rank_, split.axes) * extent(split);
}

std::vector<int64_t> Placement::extents(const Shape& shape) const {
  std::vector<int64_t> result;
  result.reserve(shape.dims.size());
  for (const Split& split : shape.dims) result.push_back(extent(split));
  return result;
}

std::vector<int64_t> Placement::global_extents(const Shape& shape) const {
  std::vector<int64_t> result;
  for (const Split& split : shape.dims) result.push_back(size(split.dim));
  return result;
}

}  // namespace shardproof
