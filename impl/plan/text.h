#pragma once
// A plan as text, for shard-train's --print-plan and for the golden files of the
// passes.
#include "impl/plan/queues.h"

namespace shardproof::plan {

/// Information on a plan's buffers that its steps do not have.
struct Names {
  /// A parameter or a result.
  struct Given {
    BufferId buffer;
    std::string name, type;  ///< "w.embed", "f32[V/t M]"
    Element element;
    std::vector<int64_t> extents;
  };
  std::string title;                     ///< "train_step on d=2, rank 0, cpu"
  std::vector<std::vector<int>> groups;  ///< by group: its ranks
  std::vector<Given> in, out;
  std::optional<size_t> arena;                      ///< bytes, once buffers have offsets
  std::vector<std::pair<BufferId, BufferId>> same;  ///< the second has the memory of the first
  std::vector<Step> first;                          ///< steps of the first run alone
};

/// The steps, after those of the first run alone, then the buffers. A step is `result = op of its
/// operands`. Operands:
/// - `%7`: all of buffer 7, as declared below; a buffer that the caller passes in has a name
/// - `%7[4 64]`: the buffer as a contiguous array of these extents
/// - `%7[4:128 64]`: extent 4 with stride 128, then extent 64 with stride 1
/// - `%7[4 64 @32+8*i0]`: starts at entry 32 + 8 i0, where i0 is a loop index
/// - `%7:bf16`: read as bf16, if the declaration has another element
///
/// `start` runs a collective in the background, on stream 1 or the communication thread. `wait for
/// all but 1` waits for all started collectives except the last one. The source location follows
/// `#`, if it differs from the previous line's.
std::string text_of(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const Names& names = {});

/// The commands of a device's streams, with loops unrolled at most `most_times` times:
/// `q1 wait e3`.
std::string text_of_commands(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                             const Names& names = {}, int64_t most_times = 2);

}  // namespace shardproof::plan
