#pragma once
// The body of one function as lines of Python.
#include <map>
#include <string>
#include <vector>

#include "spec/to_jax/names.h"

namespace shardproof::to_jax {

/// `def name(parameters):` and its lines, for the block that one device has. `functions` are the
/// names of those that it may call. `differentiated`: for shard_map with check_vma, which a
/// gradient inside of it needs. Throws NotPrinted.
std::string print_function(Sizes& sizes, size_t function, const std::vector<Type>& types,
                           const std::map<size_t, std::string>& functions, Names names,
                           const std::string& indent, bool differentiated);

}  // namespace shardproof::to_jax
