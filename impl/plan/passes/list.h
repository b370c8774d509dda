#pragma once
// The passes in the order in which a plan goes through them.
#include "impl/plan/passes/passes.h"

namespace shardproof::plan {

/// Which passes a plan asked for.
struct Wanted {
  bool fuse = true, tidy = true, overlap = false;
};

/// What passes read and rewrite.
struct Draft {
  std::vector<Step>& steps;
  std::vector<Piece>& pieces;
  const std::vector<BufferId>& given;  ///< buffers that are not of the arena
  const Device& device;
  bool alike = true;  ///< whether all ranks have these steps
};

struct Pass {
  const char* name;
  bool (*when)(const Wanted&);
  void (*run)(const Draft&);
};

const std::vector<Pass>& passes();

}  // namespace shardproof::plan
