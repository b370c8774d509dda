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

void append(const ir::Program& program, const Name& name, Factors& result) {
  using Kind = ir::DimInfo::Kind;
  const auto found = program.dims.find(name);
  const auto kind = found == program.dims.end() ? Kind::plain : found->second.kind;
  if (kind == Kind::group) {
    for (const Name& factor : found->second.of) append(program, factor, result);
    return;
  }
  if (kind != Kind::alias) return result.push_back({name, name});
  const std::vector<Name> base = program.base(Dim{{name}});
  if (base.size() == 1)
    result.push_back({name, base[0]});
  else
    for (size_t i = 0; i < base.size(); ++i)
      result.push_back({name + "." + std::to_string(i), base[i]});
}

}  // namespace

Factors factors(const ir::Program& program, const Dim& dim) {
  Factors result;
  for (const Name& name : dim.factors) append(program, name, result);
  return result;
}

Factors factors(const ir::Program& program, const Shape& shape) {
  Factors result;
  for (const Split& split : shape.dims)
    for (const Name& name : split.dim.factors) append(program, name, result);
  return result;
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
  std::vector<Name> dims;
  for (ir::IndexId id : position) dims.push_back(indices.all.at(id).dim);
  return position[leading(program, dims)];
}

}  // namespace shardproof::elaborate
