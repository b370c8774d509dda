#pragma once
// The state of a model from and to Hugging Face's format: config.json and safetensors.
#include <filesystem>

#include "impl/checkpoint/checkpoint.h"
#include "impl/interchange/mapping.h"

namespace shardproof::interchange {

/// Collective: fills the leaves, which are named as in the mapping and have the extents of their
/// types, from the files in `folder`. Each rank reads only the entries that it has. `dims` are the
/// program's sizes. Throws on every rank FileError where a tensor is missing, too many, or has
/// another shape; PlanError where the mapping does not fit the leaves.
void load(const Mapping& mapping, const std::filesystem::path& folder, Communicator& communicator,
          const Mesh& mesh, const DimSizes& dims, const std::vector<checkpoint::Leaf>& leaves);

/// A file is not made larger than this.
constexpr uint64_t largest_file = 5'000'000'000;

/// Collective: writes `folder`, which must not be there yet, config.json among its files. Each rank
/// writes its own entries of the files. Throws on every rank FileError with file and rank.
void save(const Mapping& mapping, const std::filesystem::path& folder, Communicator& communicator,
          const Mesh& mesh, const Numbers& numbers, const std::vector<checkpoint::Leaf>& leaves,
          uint64_t most_bytes = largest_file);

}  // namespace shardproof::interchange
