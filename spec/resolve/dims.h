#pragma once
// Dims and axes of a file. Files that share a name must declare it the same way.
#include <functional>

#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// Declares the mesh and dims of files[index]; E0102, E0101, E0106, E0107.
void declare_dims(World& world, size_t index);

/// Kind, factors and size of the `dim` declaration for the name at `position`.
std::optional<ir::DimInfo> dim_info(
    World& world, const syntax::DimDecl& decl, size_t position, const std::vector<Name>& known_dims,
    const std::function<std::optional<ir::Arith>(const syntax::Expr&)>& size);

}  // namespace shardproof::resolution
