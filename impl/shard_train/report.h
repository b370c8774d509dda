#pragma once
// A run as one HTML page: shard-train --report FILE.html.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "impl/shard_train/job.h"
#include "impl/shard_train/progress.h"

namespace shardproof::shard_train {

/// The page, written while the run goes on and at its end. Each write replaces the whole file at
/// once, so that a run that is killed leaves a page that can be read.
class Report {
 public:
  /// `went_on`: the run goes on from a checkpoint after `from_step`, and the page at `path`, if
  /// there is one, tells of what came before.
  Report(std::string path, const Job& job, int64_t from_step, bool went_on);
  ~Report();
  Report(Report&&) noexcept;

  /// A step; writes the page if the last write is some seconds ago. `times` are those of all steps
  /// of this process.
  void step(const Told& told, const std::map<std::string, OpTime>& times);
  void validation(int64_t step, double loss);
  /// Writes the page for the last time; `state`: "done", "stopped by signal 15". Throws FileError.
  void end(const std::string& state);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardproof::shard_train
