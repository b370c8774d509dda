#include "spec/denote/structure.h"

namespace shardproof::denote {

void open_dim(const ir::Program& program, const Dim& dim, const std::vector<Name>& keep,
              std::vector<Name>& factors) {
  for (const Name& name : dim.factors) {
    auto found = program.dims.find(name);
    const bool kept = std::find(keep.begin(), keep.end(), name) != keep.end();
    if (kept || found == program.dims.end() || found->second.of.empty())
      factors.push_back(name);
    else
      open_dim(program, Dim{found->second.of}, keep, factors);
  }
}

namespace {

/// The names that a side has, groups opened one by one: a name seen here is not opened there.
std::vector<Name> names_of(const Shape& shape) {
  std::vector<Name> names;
  for (const Split& split : shape.dims)
    names.insert(names.end(), split.dim.factors.begin(), split.dim.factors.end());
  return names;
}

}  // namespace

Factors factors_of(const Geometry& geometry, const Shape& pattern, const Shape& type,
                   const Shape& other) {
  if (pattern.dims.size() != type.dims.size()) throw Mismatch("a pattern of another rank");
  const std::vector<Name> keep = names_of(other);
  Factors result;
  for (size_t i = 0; i < pattern.dims.size(); ++i) {
    std::vector<Name> names;
    open_dim(geometry.program(), pattern.dims[i].dim, keep, names);
    int64_t shards = geometry.shards(type.dims[i]);
    for (const Name& name : names) {
      const int64_t size = geometry.size(Dim{{name}});
      if (size % shards != 0)
        throw Mismatch("the axes of " + to_string(type.dims[i]) + " do not divide it");
      result.labels.push_back(Dim{{name}});
      result.extents.push_back(size / shards);
      shards = 1;
    }
    if (shards != 1) throw Mismatch("axes on a dim without factors");
  }
  return result;
}

}  // namespace shardproof::denote
