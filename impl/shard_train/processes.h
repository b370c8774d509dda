#pragma once

#include <sys/types.h>

#include <vector>

namespace shardproof::shard_train {

std::vector<pid_t> children_of(pid_t process);

/// Children, their children, and so on.
std::vector<pid_t> descendants_of(pid_t process);

/// As in /proc: 'T' is stopped by a signal, 'Z' has ended without being waited for; 0 if there is
/// no such process.
char state_of(pid_t process);

}  // namespace shardproof::shard_train
