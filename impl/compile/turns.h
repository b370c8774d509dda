#pragma once
// The order of work and messages of a pipeline's stages.
#include <optional>

#include "spec/schedule/schedule.h"

namespace shardproof::compile {

using Chunk = std::pair<int64_t, int64_t>;  ///< microbatch, chunk

/// Work of a stage, or the message that it sends afterwards.
struct Turn {
  size_t stage = 0;
  schedule::Work work;
  bool message = false;
};

/// The stage and chunk that need the result of an F or B.
struct StageReader {
  size_t stage;
  Chunk chunk;
};
std::optional<StageReader> reader_of(const schedule::Sizes& sizes, size_t stage,
                                     const schedule::Work& work);

/// The work of all stages and its messages, in rounds: each stage does its next work if the input
/// has arrived; then the results of the round are sent. All ranks follow this order, so a rank that
/// waits for a message waits for something earlier in it: no deadlock. `kinds`: which of "FBW" to
/// run. Throws Problem if no stage can continue.
std::vector<Turn> turns_of(const std::vector<schedule::Timeline>& lines,
                           const schedule::Sizes& sizes, const std::string& kinds);

}  // namespace shardproof::compile
