#pragma once
// What each parameter of a plan that extends a key-value cache is for.
#include <optional>

#include "impl/program.h"

namespace shardproof {

struct CacheRoles {
  std::vector<size_t> cache;  ///< leaves
  std::optional<size_t> ids, at;
  std::optional<size_t> segments;  ///< none: a model that does not separate documents
};

/// Null if the plan extends no cache. `state`: the parameters that training changes.
std::optional<CacheRoles> cache_roles(const ir::Function& plan, const std::vector<Name>& state);

/// The dim of the cache's positions: that of the segments, or the one that neither the ids nor the
/// state have. Throws PlanError if there is not exactly one.
const Dim& positions_of(const ir::Function& plan, const CacheRoles& roles);

}  // namespace shardproof
