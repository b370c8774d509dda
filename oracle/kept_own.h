#pragma once
// The work that evaluations of this thread keep while a KeptWork lives.
#include <optional>
#include <unordered_map>

#include "oracle/kept_work.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {

/// A gradient and what it depends on; each result's own gradient is 1.
struct KeptGradient {
  const ir::Program* program;
  size_t function;
  Sizes sizes;
  std::vector<Tensor> inputs;
  std::vector<size_t> wrt;
  Differentiated result;
};

struct KeptReading {
  std::shared_ptr<const Unsized> unsized;
  std::shared_ptr<Table> table = {};  ///< of the last sizes
  std::shared_ptr<const Reading> sized = {};
};
using ByPattern = std::unordered_map<const ir::Pattern*, KeptReading>;

struct KeptReadings::Own {
  const ir::Program* program;
  ByPattern readings;
};

struct KeptWork::Own {
  struct AtSizes {
    Sizes sizes;
    std::shared_ptr<Table> table;
  };
  KeptReadings::Own& lasting;
  ByPattern readings = {};  ///< of other programs
  std::unordered_map<const ir::Program*, AtSizes> tables = {};
  std::optional<KeptGradient> gradient = {};  ///< the last one

  ByPattern& readings_of(const ir::Program& program) {
    return &program == lasting.program ? lasting.readings : readings;
  }
};

/// Null: nothing is kept.
KeptWork::Own* kept();

}  // namespace shardproof::oracle
