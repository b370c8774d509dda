#pragma once
// The value of a const: exact, so that a proof is about the number that the file states.
#include <optional>

#include "spec/resolve/world.h"

namespace shardproof::resolution {

/// The value of a declaration, or the one that World::set gives it. Nullopt after an error.
std::optional<Constant> constant(World& world, const FileScope& file,
                                 const syntax::ConstDecl& decl);

/// The constant as arithmetic of numbers.
ir::Arith arith_of(const Constant& constant);

}  // namespace shardproof::resolution
