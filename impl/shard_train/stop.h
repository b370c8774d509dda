#pragma once
// Lets SIGINT and SIGTERM end a run after its current step. A launched rank gets SIGUSR1 and
// SIGUSR2 for them: mpirun passes those on at once.

namespace shardproof::shard_train {

/// From now on, the first of these signals is recorded; a second one ends the process at once.
void catch_stops();
/// From now on, a signal ends the process at once; an earlier one stays recorded.
void forget_stops();
/// The signal received, or 0.
int stop_signal();
/// SIGUSR1 for SIGINT, SIGUSR2 for SIGTERM, and the reverse; others as they are.
int as_ranks_get_it(int signal);
int meaning_of(int signal);

}  // namespace shardproof::shard_train
