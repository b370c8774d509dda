#pragma once
// SIGINT and SIGTERM end a run after its step.

namespace shardproof::shard_train {

/// From now on the first of these signals is remembered; a second one ends the process at once.
void catch_stops();
/// From now on a signal ends the process at once; one that came before is still remembered.
void forget_stops();
/// The signal that came, or 0.
int stop_signal();

}  // namespace shardproof::shard_train
