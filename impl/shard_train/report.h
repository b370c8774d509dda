#pragma once
// shard-train --report FILE.html: a run as one HTML page.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "impl/shard_train/job.h"
#include "impl/shard_train/progress.h"

namespace shardproof::shard_train {

/// The page, written during the run and at its end. Each write replaces the whole file atomically,
/// so that a killed run leaves a readable page.
class Report {
 public:
  /// `went_on`: the run resumes from a checkpoint after `from_step`; the page at `path`, if it
  /// exists, has the earlier steps.
  Report(std::string path, const Job& job, int64_t from_step, bool went_on);
  ~Report();
  Report(Report&&) noexcept;

  /// Adds a step; writes the page if the last write is some seconds ago. `times`: of all steps of
  /// this process.
  void step(const Told& told, const std::map<std::string, OpTime>& times);
  void validation(int64_t step, double loss);
  /// Writes the page for the last time. `state`: "done", "stopped by signal 15". Throws FileError.
  void end(const std::string& state);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardproof::shard_train
