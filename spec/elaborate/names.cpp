#include "spec/elaborate/names.h"

#include <stdexcept>

namespace shardproof::elaborate {
namespace {

bool declared_one(const ir::Program& program, const Name& dim) {
  const auto found = program.dims.find(dim);
  if (found != program.dims.end() && found->second.kind == ir::DimInfo::Kind::plain &&
      !found->second.size)
    return false;
  try {
    return program.size(Dim{{dim}}, {}) == 1;
  } catch (const std::logic_error&) {  // its size is a symbol
    return false;
  }
}

void append(const ir::Program& program, const Dim& dim, Factors& result) {
  for_each_factor(program, dim, [&](const Name& name, const Name& of) {
    result.push_back({name, of});
  });
}

}  // namespace

Factors factors(const ir::Program& program, const Dim& dim) {
  Factors result;
  append(program, dim, result);
  return result;
}

Factors factors(const ir::Program& program, const Shape& shape) {
  Factors result;
  for (const Split& split : shape.dims) append(program, split.dim, result);
  return result;
}

std::vector<Name> names(const ir::Program& program, const Dim& dim) {
  std::vector<Name> result;
  for_each_factor(program, dim, [&](const Name& name, const Name&) { result.push_back(name); });
  return result;
}

bool has_factors(const ir::Program& program, const Dim& dim) {
  size_t count = 0;
  for_each_factor(program, dim, [&](const Name&, const Name&) { ++count; });
  return count > 1;
}

size_t leading(const ir::Program& program, const std::vector<Name>& dims) {
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    if (!declared_one(program, dims[i])) return i;
  return dims.empty() ? 0 : dims.size() - 1;
}

size_t leading(const ir::Program& program, const Dim& dim) {
  return leading(program, program.base(dim));
}

std::optional<ir::IndexId> leading(const ir::Program& program, const ir::Indices& indices,
                                   const ir::Position& position) {
  if (position.empty()) return std::nullopt;
  if (position.size() == 1) return position[0];
  std::vector<Name> dims;
  for (ir::IndexId id : position) dims.push_back(indices.all.at(id).dim);
  return position[leading(program, dims)];
}

}  // namespace shardproof::elaborate
