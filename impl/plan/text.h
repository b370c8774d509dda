#pragma once
// A plan as text: what shard-train prints with --print-plan, and what the golden files of the
// passes hold.
#include "impl/plan/queues.h"

namespace shardproof::plan {

/// What a plan knows of its buffers beside its steps.
struct Names {
  /// A parameter or a result.
  struct Given {
    BufferId buffer;
    std::string name, type;  ///< "w.embed", "f32[V/t M]"
    Element element;
    std::vector<int64_t> extents;
  };
  std::string title;                     ///< "train_step on d=2, rank 0, cpu"
  std::vector<std::vector<int>> groups;  ///< the ranks of each
  std::vector<Given> in, out;
  std::optional<size_t> arena;                      ///< its bytes, once buffers have offsets
  std::vector<std::pair<BufferId, BufferId>> same;  ///< the second has the memory of the first
};

/// The steps, then the buffers. A step is `result = op of its operands`:
///   %7                    all of buffer 7, as it is declared below; one that a run gives has a
///   name %7[4 64]              that buffer as a contiguous array of these extents %7[4:128 64]
///   extent 4 with stride 128, then extent 64 with stride 1 %7[4 64 @32+8*i0]     from entry 32 + 8
///   i0, where i0 is the index of a loop %7:bf16               read as bf16, where the declaration
///   has another element
/// `start` begins a collective beside the steps that follow, on queue 1 or the communication
/// thread. `wait for all but 1` waits for all started collectives except the last one. `#` is
/// followed by the source location, where it differs from the line before.
std::string text_of(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const Names& names = {});

/// What the queues of a device get, loops unrolled at most `most_times` times each: `q1 wait e3`.
std::string text_of_commands(const std::vector<Step>& steps, const std::vector<Piece>& pieces,
                             const Names& names = {}, int64_t most_times = 2);

}  // namespace shardproof::plan
