#pragma once
// A plan on all devices of small meshes against what it claims, with random numbers: no part of the
// checker is used but its meaning.
#include "spec/denote/evaluate.h"

namespace shardproof::faults {

struct Agreement {
  int meshes = 0;          ///< on which the devices hold what is claimed
  std::string difference;  ///< where they do not: sizes, entry, both values
};

/// `types`: of every value of every function, as checked. `backwards`: plans for the gradients that
/// it needs.
Agreement run_on_meshes(const ir::Program& program, const denote::Types& types, size_t plan,
                        const denote::Backwards& backwards);

}  // namespace shardproof::faults
