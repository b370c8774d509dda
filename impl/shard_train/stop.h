#pragma once
// Lets SIGINT and SIGTERM end a run after its current step.

namespace shardproof::shard_train {

/// From now on, the first of these signals is recorded; a second one ends the process at once.
void catch_stops();
/// From now on, a signal ends the process at once; an earlier one stays recorded.
void forget_stops();
/// The signal received, or 0.
int stop_signal();

}  // namespace shardproof::shard_train
