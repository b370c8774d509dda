#pragma once
// The list of passes, in the order in which they run.
#include "impl/plan/passes/passes.h"

namespace shardproof::plan {

/// The passes that a plan requests.
struct Wanted {
  bool fuse = true, elide = true, overlap = false, constant = false;
};

/// The data that passes read and change.
struct Draft {
  std::vector<Step>& steps;
  std::vector<Piece>& pieces;
  const std::vector<BufferId>& given;  ///< buffers outside the arena
  const Device& device;
  bool alike;                             ///< whether all ranks have the same steps
  const std::vector<BufferId>& constant;  ///< inputs that are the same in each run
  std::vector<Step>& first;               ///< steps of the first run alone
};

struct Pass {
  const char* name;
  bool (*when)(const Wanted&);
  void (*run)(const Draft&);
};

const std::vector<Pass>& passes();

}  // namespace shardproof::plan
