#pragma once
// Imports and exports a model's state in Hugging Face's format: config.json and safetensors.
#include <filesystem>

#include "impl/checkpoint/checkpoint.h"
#include "impl/interchange/mapping.h"

namespace shardproof::interchange {

/// Collective: fills the leaves, named as in the mapping and with the extents of their types, from
/// the files in `folder`; padding is filled with zeros. Each rank reads only its own entries.
/// `dims`: the program's sizes. Throws
/// FileError on every rank if a tensor is missing, unexpected, or has another shape; PlanError if
/// the mapping does not fit the leaves.
void load(const Mapping& mapping, const std::filesystem::path& folder, Communicator& communicator,
          const Mesh& mesh, const DimSizes& dims, const std::vector<checkpoint::Leaf>& leaves);

/// The maximum size of a file.
constexpr uint64_t largest_file = 5'000'000'000;

/// Collective: writes `folder`, which must not exist, with config.json. Each rank writes its own
/// entries. Throws FileError with file and rank on every rank.
void save(const Mapping& mapping, const std::filesystem::path& folder, Communicator& communicator,
          const Mesh& mesh, const Numbers& numbers, const std::vector<checkpoint::Leaf>& leaves,
          uint64_t most_bytes = largest_file);

}  // namespace shardproof::interchange
