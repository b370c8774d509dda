#include "spec/elaborate/names.h"

#include <stdexcept>

namespace shardproof::elaborate {
namespace {

bool declared_one(const ir::Program& program, const Name& dim) {
  try {
    return program.size(Dim{{dim}}, {}) == 1;
  } catch (const std::logic_error&) {  // its size is a symbol
    return false;
  }
}

/// Calls `visit(name, dim)` for each factor of the dim called `name`.
template <class Visit>
void for_each_factor(const ir::Program& program, const Name& name, const Visit& visit) {
  using Kind = ir::DimInfo::Kind;
  const auto found = program.dims.find(name);
  const auto kind = found == program.dims.end() ? Kind::plain : found->second.kind;
  if (kind == Kind::group) {
    for (const Name& factor : found->second.of) for_each_factor(program, factor, visit);
    return;
  }
  if (kind != Kind::alias) return visit(name, name);
  const std::vector<Name> base = program.base(Dim{{name}});
  if (base.size() == 1)
    visit(name, base[0]);
  else
    for (size_t i = 0; i < base.size(); ++i) visit(name + "." + std::to_string(i), base[i]);
}

void append(const ir::Program& program, const Dim& dim, Factors& result) {
  for (const Name& name : dim.factors)
    for_each_factor(program, name, [&](const Name& factor, const Name& of) {
      result.push_back({factor, of});
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
  for (const Name& name : dim.factors)
    for_each_factor(program, name,
                    [&](const Name& factor, const Name&) { result.push_back(factor); });
  return result;
}

bool has_factors(const ir::Program& program, const Dim& dim) {
  size_t count = 0;
  for (const Name& name : dim.factors)
    for_each_factor(program, name, [&](const Name&, const Name&) { ++count; });
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
