#pragma once
// A plan on all devices of small meshes against its model on one device, with random numbers: no
// part of the checker is used but its meaning.
#include "spec/denote/evaluate.h"

namespace shardproof::faults {

struct MeshRun {
  int agreed = 0;          ///< sizes at which the devices hold the model's results
  std::string difference;  ///< where they do not: sizes, entry, both values
};

/// `types`: of every value of every function, as checked.
MeshRun run_on_meshes(const ir::Program& program, const denote::Types& types, size_t plan,
                      size_t model);

}  // namespace shardproof::faults
