#pragma once
// The order in which the stages of a pipeline work and send.
#include <optional>

#include "spec/schedule/schedule.h"

namespace shardproof::compile {

using Chunk = std::pair<int64_t, int64_t>;  ///< microbatch and chunk

/// Work of a stage, or the message that it sends when it is done.
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

/// The work of all stages and its messages, in rounds: each stage does what is next if its input is
/// there, then what the round has made is sent. Every rank follows this one order, so a rank that
/// waits for the other end of a message waits for something earlier in it. `kinds`: of "FBW", those
/// that are done. Throws Problem where no stage can go on.
std::vector<Turn> turns_of(const std::vector<schedule::Timeline>& lines,
                           const schedule::Sizes& sizes, const std::string& kinds);

}  // namespace shardproof::compile
